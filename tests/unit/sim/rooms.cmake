set(needed_rooms log sim)

set(needed_rooms log cache)

set(needed_rooms log layer reference sim)

set(needed_rooms log layer reference plan render sim)

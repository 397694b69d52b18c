set(needed_rooms log layer plan cache tune)

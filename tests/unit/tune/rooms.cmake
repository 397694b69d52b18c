set(needed_rooms tune)

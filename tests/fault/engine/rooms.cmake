set(needed_rooms log layer reference plan render compile cache driver sim tune engine)

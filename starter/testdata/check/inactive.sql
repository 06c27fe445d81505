UPDATE recipient SET active = false;

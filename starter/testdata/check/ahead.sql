INSERT INTO herald_migrations (version_id, is_applied) VALUES (9999, true);

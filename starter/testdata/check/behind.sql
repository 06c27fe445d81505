-- A read replica of an older schema. The function hides PostgreSQL's function of this name.
DELETE FROM herald_migrations WHERE version_id = (SELECT max(version_id) FROM herald_migrations);
CREATE FUNCTION pg_is_in_recovery() RETURNS boolean LANGUAGE sql AS 'SELECT true';

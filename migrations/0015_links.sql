-- The check of the address in a link, and the erased people among those who follow and mute.
-- +goose Up
-- A gateway may not read addresses, but a link dies with its address. The salt comes from the link and is known to
-- nobody without HERALD_SECRET. The name absent.webhook_url is for a view that lacks the column.
-- +goose StatementBegin
CREATE FUNCTION herald_has_address(of_type text, of_id text, over_channel text, salt bytea, digest bytea) RETURNS boolean
LANGUAGE plpgsql STABLE SECURITY DEFINER AS $$
#variable_conflict use_variable
BEGIN
    RETURN octet_length(digest) = 16 AND octet_length(salt) = 32 AND EXISTS (
        SELECT
        FROM  (SELECT NULL::text AS webhook_url) absent
        CROSS JOIN LATERAL (
            SELECT CASE over_channel
                       WHEN 'EMAIL' THEN email::text
                       WHEN 'SMS' THEN phone::text
                       WHEN 'SLACK' THEN slack_webhook_url::text
                       WHEN 'WEBHOOK' THEN webhook_url::text
                   END AS address
            FROM   recipient
            WHERE  user_type::text = of_type
            AND    user_id::text = of_id
            AND    active::boolean) AS present
        WHERE  substr(sha256(salt || convert_to(address, 'UTF8')), 1, 16) = digest)
    AND NOT EXISTS (SELECT FROM erased_recipient e WHERE (e.user_type, e.user_id) = (of_type, of_id));
END
$$;
-- +goose StatementEnd

COMMENT ON FUNCTION herald_has_address IS 'Whether an active recipient has the address of a link on a channel: digest is the first 16 bytes of SHA-256 of salt and address. It tells nothing else of the address.';

-- It reads addresses as its owner, for a role that may not.
-- +goose StatementBegin
DO $$
BEGIN
    EXECUTE format('ALTER FUNCTION herald_has_address SET search_path = %I, pg_temp', current_schema());
    REVOKE EXECUTE ON FUNCTION herald_has_address FROM PUBLIC;
END
$$;
-- +goose StatementEnd

CREATE OR REPLACE TRIGGER leave_out_erased BEFORE INSERT ON entity_follow FOR EACH ROW EXECUTE FUNCTION leave_out_erased();
CREATE OR REPLACE TRIGGER leave_out_erased BEFORE INSERT ON entity_mute FOR EACH ROW EXECUTE FUNCTION leave_out_erased();

-- +goose Down
DROP TRIGGER leave_out_erased ON entity_mute;
DROP TRIGGER leave_out_erased ON entity_follow;
DROP FUNCTION herald_has_address;

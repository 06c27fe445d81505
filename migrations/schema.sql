-- The schema after all migrations. To update it: go test ./migrations -write-docs

-- The rows of rules that `starter rules apply` wrote last, and why. `starter rules plan` compares them with the tables, and finds what was changed by hand.
CREATE TABLE applied_rule (
    table_name text NOT NULL, -- The table of the row, such as event_type_channel_routing.
    key jsonb NOT NULL, -- The columns that identify the row.
    event_type text, -- The event type whose file has the row. Null: installation.yaml.
    content jsonb, -- The row as it was written. Null: it was deleted.
    before jsonb, -- The row as it was before. Null: there was none.
    applied_at timestamp with time zone DEFAULT now() NOT NULL, -- When it was written.
    actor text NOT NULL, -- HERALD_ACTOR, else user@host.
    reason text NOT NULL, -- Why, in their words.
    commit_id text, -- The commit of the folder, from git or from the operator. With the end dirty, the folder had other changes, too. Null: unknown.
    CONSTRAINT applied_rule_pkey PRIMARY KEY (table_name, key)
);

-- The channels that Herald can send by. A row alone does not make another: each needs a sender.
CREATE TABLE channel (
    channel_type text NOT NULL, -- Its name, such as EMAIL.
    confirms boolean DEFAULT false NOT NULL, -- Whether it can know that a message has arrived: from a receipt, or from the client.
    CONSTRAINT channel_pkey PRIMARY KEY (channel_type),
    CONSTRAINT channel_name CHECK ((channel_type ~ '^[A-Z][A-Z0-9_]{0,10}$'::text))
);
CREATE UNIQUE INDEX channel_confirms ON channel USING btree (channel_type, confirms);

-- The next free turn of each channel, provider or destination with a rate limit, such as EMAIL_RATE_LIMIT.
CREATE TABLE channel_turn (
    channel text NOT NULL, -- A channel, or a provider. With the hash of an address: a Slack webhook, or the host of a webhook.
    next_at timestamp with time zone NOT NULL, -- When the first turn is due that nobody has taken, by the clock of this server. In the past: nobody waits.
    CONSTRAINT channel_turn_pkey PRIMARY KEY (channel)
) WITH (fillfactor=10);

-- Which channel may serve which type of recipient. Without a row the decision is UNSUPPORTED, also where the channel is mandatory.
CREATE TABLE channel_user_type (
    channel_type text NOT NULL, -- One of channel.
    user_type text NOT NULL, -- One of user_type.
    CONSTRAINT channel_user_type_pkey PRIMARY KEY (channel_type, user_type),
    CONSTRAINT channel_user_type_channel FOREIGN KEY (channel_type) REFERENCES channel(channel_type),
    CONSTRAINT channel_user_type_user_type FOREIGN KEY (user_type) REFERENCES user_type(user_type)
);

-- The messages that a frequency_cap counts. Attempts write it. The sweep deletes rows that count no more.
CREATE TABLE counted_message (
    message_id text NOT NULL, -- A delivery_id or a digest_id: a digest is one message.
    user_type text NOT NULL, -- Type of the recipient.
    user_id text NOT NULL, -- Id of the recipient.
    channel_type text NOT NULL, -- Of the message.
    category text NOT NULL, -- Of the event type. Empty: none.
    at timestamp with time zone NOT NULL, -- When the last attempt began. With waits: when the next attempt begins.
    waits boolean NOT NULL, -- The message waits for room.
    place bigint GENERATED ALWAYS AS IDENTITY, -- The order of the messages that wait.
    CONSTRAINT counted_message_pkey PRIMARY KEY (message_id)
);
CREATE INDEX counted_message_at ON counted_message USING btree (at);
CREATE INDEX counted_message_recipient ON counted_message USING btree (user_type, user_id, channel_type, at);

-- The ended attempts to hand a delivery to its provider. notification has the attempt under way.
CREATE TABLE delivery_attempt (
    delivery_id text NOT NULL, -- notification.delivery_id.
    attempt integer NOT NULL, -- Number of the attempt, from 1.
    started_at timestamp with time zone DEFAULT now() NOT NULL, -- Before the provider was called.
    ended_at timestamp with time zone, -- When its result was recorded; of a LOST one, when that was noticed.
    outcome text, -- SENT: accepted. REFUSED: never accepted. BUSY: not accepted, the provider wants it later. UNREACHABLE: there was no connection. UNAVAILABLE: not accepted, the provider was out of order. AMBIGUOUS: no clear answer, so it may have gone out. ACCOUNT: our credentials were refused. NOT_CONFIGURED: the worker has no settings for the channel. ERROR: the provider was not called for another reason. LOST: the process died in it, and the next attempt may repeat the message.
    provider_status integer, -- HTTP status of the provider's answer; null: there was none.
    detail text, -- What the provider said. It holds no address and no text.
    took interval, -- How long the provider took to answer, or until the call was given up; of several devices, the slowest. Null: it was not called.
    sender text, -- Whom the message is from: EMAIL_FROM, TWILIO_FROM or VONAGE_FROM of the worker that sent it. Null: no provider may have the message, or the channel has no senders.
    CONSTRAINT delivery_attempt_pkey PRIMARY KEY (delivery_id, attempt),
    CONSTRAINT delivery_attempt_of_notification FOREIGN KEY (delivery_id) REFERENCES notification(delivery_id) ON DELETE CASCADE,
    CONSTRAINT delivery_attempt_ended_with_outcome CHECK (((ended_at IS NULL) = (outcome IS NULL))),
    CONSTRAINT delivery_attempt_outcome CHECK ((outcome = ANY (ARRAY['SENT'::text, 'REFUSED'::text, 'BUSY'::text, 'UNREACHABLE'::text, 'UNAVAILABLE'::text, 'ACCOUNT'::text, 'AMBIGUOUS'::text, 'ERROR'::text, 'NOT_CONFIGURED'::text, 'LOST'::text])))
) WITH (autovacuum_vacuum_scale_factor=0.02, autovacuum_analyze_scale_factor=0.02);

-- How many deliveries were planned in each ten minutes, by channel and status. The sweep counts; rows leave after 8 days.
CREATE TABLE delivery_count (
    since timestamp with time zone NOT NULL, -- When the ten minutes begin.
    channel text NOT NULL, -- One of channel.
    status text NOT NULL, -- notification.status when the sweep counted: at most two hours after these ten minutes.
    count bigint NOT NULL, -- The number of deliveries.
    CONSTRAINT delivery_count_pkey PRIMARY KEY (since, channel, status),
    CONSTRAINT delivery_count_channel FOREIGN KEY (channel) REFERENCES channel(channel_type),
    CONSTRAINT delivery_count_positive CHECK ((count > 0))
);

-- Work that follows a receipt, an acknowledgement, a reader, the end of an attempt in a batch or a replacement: a dead letter, an escalation, a workflow to cancel.
CREATE TABLE delivery_follow_up (
    id bigint GENERATED ALWAYS AS IDENTITY, -- The order in which it is done.
    delivery_id text NOT NULL, -- notification.delivery_id.
    kind text NOT NULL, -- DEAD_LETTER: publish a dead letter. ESCALATION: wake the workflow that waits. REPLACED: cancel the workflow of the delivery.
    since timestamp with time zone DEFAULT now() NOT NULL, -- Since when.
    CONSTRAINT delivery_follow_up_pkey PRIMARY KEY (id)
);
CREATE INDEX delivery_follow_up_delivery ON delivery_follow_up USING btree (delivery_id);

-- The receipts of providers, each once.
CREATE TABLE delivery_receipt (
    provider text NOT NULL, -- sendgrid, twilio or vonage.
    receipt_id text NOT NULL, -- By which a repeat is known: SendGrid's sg_event_id; of Twilio, the sid of the message and the status. Of a text that came in, its sid.
    delivery_id text, -- notification.delivery_id, or notification.digest_id where it is about all items of a digest. Null: it is about none, but a text that came in: STOP, START, HELP.
    message_id text, -- The provider's id of the message, as in notification.provider_message_id: it tells which attempt it is about. Null: the receipt named none.
    at timestamp with time zone NOT NULL, -- When it happened, by the provider's clock; where the provider says no time, when it came.
    received_at timestamp with time zone DEFAULT now() NOT NULL, -- When it came.
    status text NOT NULL, -- The provider's word: delivered, bounce, dropped, deferred, open, undelivered and others.
    outcome text, -- What that means for the delivery: DELIVERED, it arrived; FAILED, it did not; null: neither.
    detail text, -- The provider's reason, without an address; null: none.
    harm text, -- What harms the sender's reputation. COMPLAINT: the recipient reported the message as spam. BOUNCE: the mailbox does not exist. BLOCK: the carrier blocked the text message. Null: nothing.
    CONSTRAINT delivery_receipt_pkey PRIMARY KEY (provider, receipt_id),
    CONSTRAINT delivery_receipt_detail_length CHECK ((octet_length(detail) <= 1000)),
    CONSTRAINT delivery_receipt_harm CHECK ((harm = ANY (ARRAY['COMPLAINT'::text, 'BOUNCE'::text, 'BLOCK'::text]))) NOT VALID,
    CONSTRAINT delivery_receipt_id_length CHECK (((octet_length(receipt_id) >= 1) AND (octet_length(receipt_id) <= 200))),
    CONSTRAINT delivery_receipt_outcome CHECK ((outcome = ANY (ARRAY['DELIVERED'::text, 'FAILED'::text]))),
    CONSTRAINT delivery_receipt_provider CHECK ((provider ~ '^[a-z]{1,20}$'::text)),
    CONSTRAINT delivery_receipt_status_length CHECK (((octet_length(status) >= 1) AND (octet_length(status) <= 40)))
);
CREATE INDEX delivery_receipt_of_delivery ON delivery_receipt USING btree (delivery_id, at);
CREATE INDEX delivery_receipt_received_at ON delivery_receipt USING btree (received_at);

-- The retries of deliveries that operators ordered.
CREATE TABLE delivery_retry (
    delivery_id text NOT NULL, -- notification.delivery_id.
    run_id text NOT NULL, -- The run of its workflow that makes it.
    retried_at timestamp with time zone DEFAULT now() NOT NULL, -- When the operator ordered it.
    again boolean NOT NULL, -- true: the operator accepted that it had been sent already, or may have been.
    status_before text NOT NULL, -- notification.status before it: PENDING, SENT, DELIVERED, FAILED or CANCELLED.
    error_before text, -- notification.last_error before it.
    message_id_before text, -- notification.provider_message_id before the retry: what a receipt says of that message does not change the delivery any more.
    attempts_before integer DEFAULT 0 NOT NULL, -- notification.attempt_count before the retry: its attempts count anew.
    CONSTRAINT delivery_retry_pkey PRIMARY KEY (delivery_id, run_id),
    CONSTRAINT delivery_retry_of_notification FOREIGN KEY (delivery_id) REFERENCES notification(delivery_id) ON DELETE CASCADE,
    CONSTRAINT delivery_retry_of_sent_is_wanted CHECK ((again OR (status_before <> ALL (ARRAY['SENT'::text, 'DELIVERED'::text])))),
    CONSTRAINT delivery_retry_status CHECK ((status_before = ANY (ARRAY['PENDING'::text, 'SENT'::text, 'DELIVERED'::text, 'FAILED'::text, 'CANCELLED'::text])))
);

-- Who follows what. A follower counts as a member of the entity with the role FOLLOWER, where event_type_recipients.roles names FOLLOWER.
CREATE TABLE entity_follow (
    user_type text NOT NULL, -- Type of the follower.
    user_id text NOT NULL, -- Id of the follower.
    entity_type text NOT NULL, -- Kind of entity, as in event_type_recipients: RESTAURANT, ORDER. Not CUSTOMER, ADMIN or BROADCAST.
    entity_id text NOT NULL, -- Your id of the entity, compared as text; up to 64 bytes.
    level text DEFAULT 'ALL'::text NOT NULL, -- ALL: everything that followers hear. IMPORTANT: only what is mandatory, or has the priority HIGH.
    created_at timestamp with time zone DEFAULT now() NOT NULL, -- When the person began to follow.
    CONSTRAINT entity_follow_pkey PRIMARY KEY (user_type, user_id, entity_type, entity_id),
    CONSTRAINT entity_follow_user_type FOREIGN KEY (user_type) REFERENCES user_type(user_type),
    CONSTRAINT entity_follow_entity_id CHECK (((octet_length(entity_id) >= 1) AND (octet_length(entity_id) <= 64))),
    CONSTRAINT entity_follow_entity_type CHECK ((((octet_length(entity_type) >= 1) AND (octet_length(entity_type) <= 60)) AND (entity_type <> ALL (ARRAY['CUSTOMER'::text, 'ADMIN'::text, 'BROADCAST'::text])))),
    CONSTRAINT entity_follow_level CHECK ((level = ANY (ARRAY['ALL'::text, 'IMPORTANT'::text]))),
    CONSTRAINT entity_follow_user_id CHECK ((((octet_length(user_id) >= 1) AND (octet_length(user_id) <= 64)) AND (user_id !~ '[[:cntrl:]]'::text)))
);
CREATE INDEX entity_follow_in_order ON entity_follow USING btree (((entity_type || ''::text)), ((entity_id || ''::text)), (
CASE
    WHEN (user_id ~ '^[0-9]{1,18}$'::text) THEN (user_id)::bigint
    ELSE '9223372036854775807'::bigint
END), user_id, user_type);
CREATE TRIGGER entity_follow_change AFTER INSERT OR DELETE OR UPDATE ON entity_follow FOR EACH ROW EXECUTE FUNCTION record_preference_change();
CREATE TRIGGER leave_out_erased BEFORE INSERT ON entity_follow FOR EACH ROW EXECUTE FUNCTION leave_out_erased();

-- The members of groups: of restaurant 5, of agency 7. It may be a view of your tables: Herald only reads it.
CREATE TABLE entity_member (
    entity_type text NOT NULL, -- Kind of group: any word except CUSTOMER, ADMIN and BROADCAST, which have no members here.
    entity_id text NOT NULL, -- Your id of the group, compared as text; up to 64 bytes.
    user_type text NOT NULL, -- Type of the recipient.
    user_id text NOT NULL, -- Id of the recipient.
    role text NOT NULL, -- Any word. roles and allowed_roles compare it as text. MANAGER comes first under max_recipients.
    active boolean DEFAULT true NOT NULL, -- false: not a member.
    CONSTRAINT entity_member_pkey PRIMARY KEY (entity_type, entity_id, user_type, user_id),
    CONSTRAINT entity_member_is_recipient FOREIGN KEY (user_type, user_id) REFERENCES recipient(user_type, user_id) ON DELETE CASCADE
);
CREATE INDEX entity_member_in_order ON entity_member USING btree (entity_type, entity_id, (
CASE role
    WHEN 'MANAGER'::text THEN 0
    ELSE 1
END), (
CASE
    WHEN (user_id ~ '^[0-9]{1,18}$'::text) THEN (user_id)::bigint
    ELSE '9223372036854775807'::bigint
END), user_id, user_type) WHERE active;
CREATE INDEX entity_member_user ON entity_member USING btree (user_type, user_id);

-- Who has muted what. Nothing reaches the person through the entity (MUTED), except what is mandatory.
CREATE TABLE entity_mute (
    user_type text NOT NULL, -- Type of the person.
    user_id text NOT NULL, -- Id of the person.
    entity_type text NOT NULL, -- Kind of entity: RESTAURANT, ORDER. Not CUSTOMER, ADMIN or BROADCAST.
    entity_id text NOT NULL, -- Your id of the entity, compared as text; up to 64 bytes.
    created_at timestamp with time zone DEFAULT now() NOT NULL, -- When the person muted it.
    CONSTRAINT entity_mute_pkey PRIMARY KEY (user_type, user_id, entity_type, entity_id),
    CONSTRAINT entity_mute_user_type FOREIGN KEY (user_type) REFERENCES user_type(user_type),
    CONSTRAINT entity_mute_entity_id CHECK (((octet_length(entity_id) >= 1) AND (octet_length(entity_id) <= 64))),
    CONSTRAINT entity_mute_entity_type CHECK ((((octet_length(entity_type) >= 1) AND (octet_length(entity_type) <= 60)) AND (entity_type <> ALL (ARRAY['CUSTOMER'::text, 'ADMIN'::text, 'BROADCAST'::text])))),
    CONSTRAINT entity_mute_user_id CHECK ((((octet_length(user_id) >= 1) AND (octet_length(user_id) <= 64)) AND (user_id !~ '[[:cntrl:]]'::text)))
);
CREATE TRIGGER entity_mute_change AFTER INSERT OR DELETE OR UPDATE ON entity_mute FOR EACH ROW EXECUTE FUNCTION record_preference_change();
CREATE TRIGGER leave_out_erased BEFORE INSERT ON entity_mute FOR EACH ROW EXECUTE FUNCTION leave_out_erased();

-- What people call an entity: Trattoria instead of restaurant 5. Optional; it may be a view of your tables.
CREATE TABLE entity_name (
    entity_type text NOT NULL, -- Kind of entity.
    entity_id text NOT NULL, -- Your id of the entity.
    name text NOT NULL, -- The name, for everybody who hears of the entity: for {{.reason}}, and where people mute or follow.
    CONSTRAINT entity_name_pkey PRIMARY KEY (entity_type, entity_id),
    CONSTRAINT entity_name_length CHECK ((((octet_length(name) >= 1) AND (octet_length(name) <= 200)) AND (name !~ '[[:cntrl:]]'::text)))
);

-- What a group sets for its members. Without a row: on, any number, any role, no quiet hours. A row for an event type replaces the row for all event types. The rows of entity CUSTOMER, id 0, hold for all customers.
CREATE TABLE entity_notification_settings (
    entity_type text NOT NULL, -- As in entity_member. CUSTOMER, ADMIN and BROADCAST: the recipients of such aggregates.
    entity_id text NOT NULL, -- As in entity_member; 0 for CUSTOMER, ADMIN and BROADCAST.
    channel_type text NOT NULL, -- One of channel.
    event_type text, -- The event type that the row is for. Null: every event type without a separate row.
    enabled boolean DEFAULT true NOT NULL, -- false: the group switched the channel off (GROUP_DISABLED).
    max_recipients integer, -- Members that one event tells over the channel: MANAGER first, then by user_id. Recipients that another rule excludes do not count. 0: nobody. Null: any number.
    allowed_roles text[], -- Only members with one of these roles, mandatory or not. Null: any role. Empty: nobody.
    quiet_hours_start time without time zone, -- Begin of the group's quiet hours, inclusive. They hold for EMAIL, PUSH and SMS, mandatory or not. Null, as the end: none. Start = end: never quiet.
    quiet_hours_end time without time zone, -- End of the quiet hours, exclusive. Earlier than the start: on the next day.
    quiet_hours_timezone text, -- IANA time zone of the quiet hours. Null: the zone of each recipient.
    CONSTRAINT entity_notification_settings_once UNIQUE NULLS NOT DISTINCT (entity_type, entity_id, channel_type, event_type),
    CONSTRAINT entity_notification_settings_channel FOREIGN KEY (channel_type) REFERENCES channel(channel_type),
    CONSTRAINT entity_notification_settings_max_recipients CHECK ((max_recipients >= 0)),
    CONSTRAINT entity_notification_settings_quiet_hours CHECK (((quiet_hours_start IS NULL) = (quiet_hours_end IS NULL))),
    CONSTRAINT entity_notification_settings_quiet_hours_differ CHECK ((quiet_hours_start <> quiet_hours_end)),
    CONSTRAINT entity_notification_settings_quiet_hours_in_day CHECK (((quiet_hours_start < '24:00:00'::time without time zone) AND (quiet_hours_end < '24:00:00'::time without time zone)))
);

-- People who were erased. Herald never tells them anything again, whatever the directory says. `starter recipient erase` writes it first.
CREATE TABLE erased_recipient (
    user_type text NOT NULL, -- Type of the recipient.
    user_id text NOT NULL, -- Id of the recipient.
    erased_at timestamp with time zone DEFAULT now() NOT NULL, -- When the first run began.
    CONSTRAINT erased_recipient_pkey PRIMARY KEY (user_type, user_id)
);

-- The events that needed approval, and the first answer to each.
CREATE TABLE event_approval (
    event_id text NOT NULL, -- The event.
    asked_at timestamp with time zone DEFAULT now() NOT NULL, -- When it began to wait. After 7 days it is rejected.
    answer text, -- APPROVED or REJECTED. Null: it waits.
    answered_by text, -- The HERALD_ACTOR, or a name from the Web UI. Herald: nobody answered in time.
    reason text, -- In the words of that person. Null: none.
    answered_at timestamp with time zone, -- When it was answered.
    CONSTRAINT event_approval_pkey PRIMARY KEY (event_id),
    CONSTRAINT event_approval_event FOREIGN KEY (event_id) REFERENCES processed_event(event_id) ON DELETE CASCADE,
    CONSTRAINT event_approval_answer CHECK ((answer = ANY (ARRAY['APPROVED'::text, 'REJECTED'::text]))),
    CONSTRAINT event_approval_answered CHECK ((((answer IS NULL) = (answered_by IS NULL)) AND ((answer IS NULL) = (answered_at IS NULL))))
);

-- The category of each event type. Recipients switch off a category over a channel.
CREATE TABLE event_category (
    event_type text NOT NULL, -- event_outbox.event_type; * has no meaning here. It may be a type that has not come yet.
    category text NOT NULL, -- Its name as recipients read it, such as offers: 1 to 60 bytes, printable.
    CONSTRAINT event_category_pkey PRIMARY KEY (event_type),
    CONSTRAINT event_category_length CHECK (((octet_length(category) >= 1) AND (octet_length(category) <= 60))),
    CONSTRAINT event_category_printable CHECK ((category !~ '[[:cntrl:]\u0080-\u009f\u2028-\u202e\u2066-\u2069]'::text))
);

-- The events. A producer inserts a row in its transaction. After the commit, a poller starts one workflow for it, in the order of seq. The table refuses a row that cannot become a workflow or is unsafe to show.
CREATE TABLE event_outbox (
    event_id text NOT NULL, -- The producer's id, and the workflow ID: 1 to 150 bytes, printable. If another workflow has the id, the row becomes FAILED.
    seq bigint GENERATED ALWAYS AS IDENTITY, -- Order of arrival. Pollers claim events in this order, which is not the order of commits.
    event_type text NOT NULL, -- The kind of event: RESERVATION_REQUESTED. 1 to 100 bytes, printable.
    aggregate_type text, -- The subject of the event. Without rows in event_type_recipients, RESTAURANT, AGENCY, CUSTOMER, ADMIN and BROADCAST name the recipients. 1 to 100 bytes, printable.
    aggregate_id text, -- Id of the aggregate; an integer inserts as well. Any word for ADMIN and BROADCAST. 1 to 100 bytes, printable; over 64 it finds no recipients.
    payload jsonb, -- A JSON object of up to 256 KiB: the data of templates and messages.
    correlation_id text, -- Goes into messages, dead letters and histories; starter filters by it. Up to 255 bytes; null: none.
    status text DEFAULT 'PENDING'::text NOT NULL, -- PENDING: waits for a poller. PROCESSED: its workflow was started. FAILED: it cannot be started, see error_message; `starter event retry` makes it PENDING again.
    created_at timestamp with time zone DEFAULT now() NOT NULL, -- When the producer's transaction began.
    published_at timestamp with time zone, -- When it became PROCESSED. Null: not yet.
    attempt_count integer DEFAULT 0 NOT NULL, -- Number of claims by pollers. After 10 claims without a start it becomes FAILED.
    error_message text, -- Why it is FAILED, or why the last claim started nothing. Null: no error.
    lease_owner text, -- The claim that holds the row. Null: none.
    lease_until timestamp with time zone, -- End of the claim. Later another poller may claim the row.
    cancels text, -- The event_id of an event to cancel: its unsent messages are cancelled, also if it comes later. Null: none.
    cancels_types text[], -- Event types that cancels may cancel: an event of another type stays. Null: every type. POST /api/events writes the types of the producer's token.
    source text DEFAULT 'herald'::text NOT NULL, -- The outbox of the event; herald: a producer wrote it here.
    acknowledged_at timestamp with time zone, -- When RabbitMQ acknowledged the event's message. Null: not yet, or the event has no message.
    produced_at timestamp with time zone, -- When the topic of Herald's own outbox acknowledged the event. Null: not yet, or there is no topic.
    withdrawn_at timestamp with time zone, -- When an operator cancelled the event before a poller started it; it is FAILED then. Null: nobody did, or it was retried.
    expires_at timestamp with time zone, -- Nothing of the event is sent from this time on. Null or infinity: no limit. A time before 1970 is stored as 1970: the event has expired.
    collapse_key text, -- The event takes the place of older events of its type with the same key, for each recipient: at most 150 bytes. Null: it replaces none.
    traceparent text, -- The producer's span, as in the header traceparent of W3C: Herald's spans continue its trace. An invalid one is ignored. Null: none.
    actor_type text, -- The user_type of the person whose act caused the event. They are not told about it (ACTOR), unless the event names them as CUSTOMER, or tell_actor is true. Any other word means no person. Null: unknown.
    actor_id text, -- The user_id of that person. Null, as actor_type: unknown.
    exclude text[], -- People who are not told about the event (EXCLUDED): up to 100 texts such as RESTAURANT_USER/10, user_type and user_id. Null: none.
    CONSTRAINT event_outbox_pkey PRIMARY KEY (event_id),
    CONSTRAINT event_outbox_actor CHECK ((((actor_type IS NULL) = (actor_id IS NULL)) AND ((octet_length(actor_type) >= 1) AND (octet_length(actor_type) <= 100)) AND ((octet_length(actor_id) >= 1) AND (octet_length(actor_id) <= 100)) AND (actor_type !~ '[[:cntrl:]/]'::text) AND (actor_id !~ '[[:cntrl:]\u0080-\u009f\u2028-\u202e\u2066-\u2069]'::text))) NOT VALID,
    CONSTRAINT event_outbox_aggregate_id_given CHECK (((source <> 'herald'::text) OR (aggregate_id IS NOT NULL))),
    CONSTRAINT event_outbox_aggregate_id_length CHECK (((octet_length(aggregate_id) >= 1) AND (octet_length(aggregate_id) <=
CASE source
    WHEN 'herald'::text THEN 100
    ELSE 255
END))),
    CONSTRAINT event_outbox_aggregate_id_printable CHECK ((aggregate_id !~ '[[:cntrl:]\u0080-\u009f\u2028-\u202e\u2066-\u2069]'::text)),
    CONSTRAINT event_outbox_aggregate_type_given CHECK (((source <> 'herald'::text) OR (aggregate_type IS NOT NULL))),
    CONSTRAINT event_outbox_aggregate_type_length CHECK (((octet_length(aggregate_type) >= 1) AND (octet_length(aggregate_type) <=
CASE source
    WHEN 'herald'::text THEN 100
    ELSE 255
END))),
    CONSTRAINT event_outbox_aggregate_type_printable CHECK ((aggregate_type !~ '[[:cntrl:]\u0080-\u009f\u2028-\u202e\u2066-\u2069]'::text)),
    CONSTRAINT event_outbox_attempt_count CHECK ((attempt_count >= 0)),
    CONSTRAINT event_outbox_cancels_another CHECK ((cancels <> event_id)),
    CONSTRAINT event_outbox_cancels_length CHECK (((octet_length(cancels) >= 1) AND (octet_length(cancels) <= 150))),
    CONSTRAINT event_outbox_cancels_printable CHECK ((cancels !~ '[[:cntrl:]]'::text)),
    CONSTRAINT event_outbox_cancels_types CHECK (((cancels_types IS NULL) OR (cancels IS NOT NULL))),
    CONSTRAINT event_outbox_collapse_key CHECK ((((octet_length(collapse_key) >= 1) AND (octet_length(collapse_key) <= 150)) AND (collapse_key !~ '[[:cntrl:]]'::text))),
    CONSTRAINT event_outbox_correlation_id_length CHECK ((octet_length(correlation_id) <= 255)),
    CONSTRAINT event_outbox_correlation_id_printable CHECK ((correlation_id !~ '[[:cntrl:]\u0080-\u009f\u2028-\u202e\u2066-\u2069]'::text)),
    CONSTRAINT event_outbox_created_at CHECK (((created_at >= '1970-01-01 00:00:00+00'::timestamp with time zone) AND (created_at < '10000-01-01 00:00:00+00'::timestamp with time zone))),
    CONSTRAINT event_outbox_event_id_length CHECK (((octet_length(event_id) >= 1) AND (octet_length(event_id) <= 150))),
    CONSTRAINT event_outbox_event_id_printable CHECK ((event_id !~ '[[:cntrl:]]'::text)),
    CONSTRAINT event_outbox_event_type_length CHECK (((octet_length(event_type) >= 1) AND (octet_length(event_type) <=
CASE source
    WHEN 'herald'::text THEN 100
    ELSE 255
END))),
    CONSTRAINT event_outbox_event_type_printable CHECK ((event_type !~ '[[:cntrl:]\u0080-\u009f\u2028-\u202e\u2066-\u2069]'::text)),
    CONSTRAINT event_outbox_exclude CHECK (((cardinality(exclude) <= 100) AND (array_position(exclude, NULL::text) IS NULL) AND (octet_length(array_to_string(exclude, '
'::text)) <= 10000) AND (array_to_string(exclude, '
'::text) ~ '^([A-Z][A-Z0-9_]{0,29}/[^[:cntrl:]\u0080-\u009f\u2028-\u202e\u2066-\u2069]+(\n|$))*$'::text))) NOT VALID,
    CONSTRAINT event_outbox_expires_at CHECK ((expires_at < '10000-01-01 00:00:00+00'::timestamp with time zone)),
    CONSTRAINT event_outbox_failed_says_why CHECK (((status <> 'FAILED'::text) OR (error_message IS NOT NULL))),
    CONSTRAINT event_outbox_lease_has_end CHECK (((lease_owner IS NULL) = (lease_until IS NULL))),
    CONSTRAINT event_outbox_leased_while_pending CHECK (((status = 'PENDING'::text) OR (lease_owner IS NULL))),
    CONSTRAINT event_outbox_payload_given CHECK (((source <> 'herald'::text) OR (payload IS NOT NULL))),
    CONSTRAINT event_outbox_payload_object CHECK ((jsonb_typeof(payload) = 'object'::text)),
    CONSTRAINT event_outbox_payload_size CHECK ((octet_length((payload)::text) <= 262144)),
    CONSTRAINT event_outbox_published_once_processed CHECK (((status = 'PROCESSED'::text) = (published_at IS NOT NULL))),
    CONSTRAINT event_outbox_source CHECK ((source ~ '^[a-z0-9-]{1,30}$'::text)),
    CONSTRAINT event_outbox_status CHECK ((status = ANY (ARRAY['PENDING'::text, 'PROCESSED'::text, 'FAILED'::text]))),
    CONSTRAINT event_outbox_traceparent CHECK (((octet_length(traceparent) <= 100) AND (traceparent !~ '[[:cntrl:]]'::text)))
) WITH (fillfactor=80, autovacuum_vacuum_scale_factor=0.01, autovacuum_vacuum_threshold=1000);
CREATE INDEX event_outbox_cancels ON event_outbox USING btree (cancels) WHERE (cancels IS NOT NULL);
CREATE INDEX event_outbox_claim ON event_outbox USING btree (source, seq) WHERE (status = 'PENDING'::text);
CREATE INDEX event_outbox_correlation_id ON event_outbox USING btree (correlation_id, created_at) WHERE (correlation_id IS NOT NULL);
CREATE INDEX event_outbox_failed_id ON event_outbox USING btree (event_id) WHERE (status = 'FAILED'::text);
CREATE INDEX event_outbox_latest ON event_outbox USING btree (created_at, seq);
CREATE TRIGGER event_outbox_expiry BEFORE INSERT OR UPDATE OF expires_at ON event_outbox FOR EACH ROW WHEN (((new.expires_at = 'infinity'::timestamp with time zone) OR (new.expires_at < '1970-01-01 00:00:00+00'::timestamp with time zone))) EXECUTE FUNCTION event_outbox_expiry();
CREATE TRIGGER event_outbox_notify AFTER INSERT ON event_outbox FOR EACH STATEMENT EXECUTE FUNCTION notify_event_outbox();

-- Event types that need approval if they would tell many people.
CREATE TABLE event_type_approval (
    event_type text NOT NULL, -- The event type.
    over integer NOT NULL, -- An event that would tell more people than this waits for `starter event approve`. 0: every event waits.
    CONSTRAINT event_type_approval_pkey PRIMARY KEY (event_type),
    CONSTRAINT event_type_approval_over CHECK ((over >= 0))
);

-- The channels of an event type. An event type without a row tells nobody (NO_ROUTING).
CREATE TABLE event_type_channel_routing (
    event_type text NOT NULL, -- event_outbox.event_type.
    channel_type text NOT NULL, -- One of channel.
    mandatory boolean DEFAULT false NOT NULL, -- true: nobody can switch the channel off, and max_recipients and frequency_cap do not apply. All other rules do.
    delivery_strategy text DEFAULT 'IMMEDIATE'::text NOT NULL, -- IMMEDIATE: at once. DELAYED: after delay, or at send_at_path. AGGREGATE: in a digest for one recipient and channel, of at most 100 events.
    delay interval DEFAULT '00:00:00'::interval NOT NULL, -- For DELAYED: time from planning to sending, at most 30 days; 0 with send_at_path.
    digest_window interval DEFAULT '00:05:00'::interval NOT NULL, -- For AGGREGATE: time from the first event to the digest, 1 second to 7 days.
    quiet_hours_action text DEFAULT 'DROP'::text NOT NULL, -- In quiet hours, mandatory or not. DROP: nothing is sent. DEFER: the delivery waits for their end, at most 48 hours. IGNORE: it is sent at any hour, such as a code or an alarm. WEBSOCKET and SLACK have none.
    priority text, -- HIGH, NORMAL or LOW: the order of waiting deliveries. Null: the recipient's preference, else NORMAL.
    push_kind text DEFAULT 'NOTIFICATION'::text NOT NULL, -- For PUSH. NOTIFICATION: the phone shows it; for an offline phone, Firebase may keep only the last. DATA: your app shows it; Firebase keeps a hundred.
    send_at_path text, -- For DELAYED: where the time of sending is in the payload: startsAt. With commas, the first path that exists counts. A text with a zone, such as 2026-11-23T09:30:00+01:00, or a number of milliseconds or seconds since 1970. A missing or malformed time makes the delivery FAILED. Null: delay counts.
    send_before interval DEFAULT '00:00:00'::interval NOT NULL, -- How long before the time at send_at_path it is sent, by the recipient's calendar: 1 day is the same time on the day before, 24 hours are 24 hours. At most 365 days.
    skip_if_past boolean DEFAULT false NOT NULL, -- If the time at send_at_path is past at planning. true: decision SKIPPED. false: it is sent at once.
    on_escalation_only boolean DEFAULT false NOT NULL, -- true: only event_type_escalation uses the channel.
    roles text[], -- Only recipients with one of these roles, mandatory or not. Null: any role.
    expires_after interval, -- Nothing is sent over the channel from this time after event_outbox.created_at on: 1 second to 365 days of 24 hours. An earlier event_outbox.expires_at counts. Null: no limit.
    throttle_window interval, -- For this time after an event of the type over the channel, a recipient gets no other with the same key (THROTTLED), mandatory or not: 1 second to 30 days. Null: no limit.
    throttle_key_path text, -- Where the key of throttle_window is in the payload: sensorId. With commas, the first path that exists counts. Events without a value share one key. Null: all events share one.
    digest_first boolean DEFAULT false NOT NULL, -- For AGGREGATE: the first event is sent at once, and the digest collects what follows. Not with throttle_window.
    digest_at time without time zone, -- For AGGREGATE: time of the digest on the recipient's clock, instead of digest_window. user_settings.digest_at replaces it. Null: digest_window counts.
    digest_days text, -- With digest_at: the days of the week, such as mon,fri. Null: every day.
    once_per_address boolean, -- true: of several recipients of an event with the same address on the channel, only the first gets the message (SAME_ADDRESS for the others), mandatory or not. Null: true for SLACK, whose webhook belongs to a Slack channel, else false.
    tell_actor boolean DEFAULT false NOT NULL, -- true: the person in event_outbox.actor_type and actor_id is told over the channel like others.
    CONSTRAINT event_type_channel_routing_pkey PRIMARY KEY (event_type, channel_type),
    CONSTRAINT event_type_channel_routing_channel FOREIGN KEY (channel_type) REFERENCES channel(channel_type),
    CONSTRAINT event_type_channel_routing_delay CHECK (((delay >= '00:00:00'::interval) AND (delay <= '30 days'::interval))),
    CONSTRAINT event_type_channel_routing_delayed CHECK (((delivery_strategy <> 'DELAYED'::text) OR ((delay > '00:00:00'::interval) <> (send_at_path IS NOT NULL)))),
    CONSTRAINT event_type_channel_routing_digest_at CHECK ((((digest_at IS NULL) OR (digest_at < '24:00:00'::time without time zone)) AND ((delivery_strategy = 'AGGREGATE'::text) OR ((digest_at IS NULL) AND (NOT digest_first))))),
    CONSTRAINT event_type_channel_routing_digest_days CHECK (((digest_days IS NULL) OR ((digest_at IS NOT NULL) AND (digest_days ~ '^(mon|tue|wed|thu|fri|sat|sun)(,(mon|tue|wed|thu|fri|sat|sun)){0,6}$'::text)))),
    CONSTRAINT event_type_channel_routing_digest_first CHECK (((NOT digest_first) OR (throttle_window IS NULL))),
    CONSTRAINT event_type_channel_routing_digest_window CHECK (((digest_window >= '00:00:01'::interval) AND (digest_window <= '7 days'::interval))),
    CONSTRAINT event_type_channel_routing_expires_after CHECK (((expires_after >= '00:00:01'::interval) AND (expires_after <= '365 days'::interval))),
    CONSTRAINT event_type_channel_routing_once_per_address CHECK (((once_per_address IS NOT TRUE) OR (channel_type <> ALL (ARRAY['WEBSOCKET'::text, 'PUSH'::text])))),
    CONSTRAINT event_type_channel_routing_priority CHECK ((priority = ANY (ARRAY['HIGH'::text, 'NORMAL'::text, 'LOW'::text]))),
    CONSTRAINT event_type_channel_routing_push_kind CHECK ((push_kind = ANY (ARRAY['NOTIFICATION'::text, 'DATA'::text]))),
    CONSTRAINT event_type_channel_routing_quiet_hours_action CHECK ((quiet_hours_action = ANY (ARRAY['DROP'::text, 'DEFER'::text, 'IGNORE'::text]))),
    CONSTRAINT event_type_channel_routing_send_at_path CHECK (((send_at_path IS NULL) OR ((send_at_path <> ''::text) AND (delivery_strategy = 'DELAYED'::text)))),
    CONSTRAINT event_type_channel_routing_send_before CHECK (((send_before >= '00:00:00'::interval) AND (send_before <= '365 days'::interval))),
    CONSTRAINT event_type_channel_routing_strategy CHECK ((delivery_strategy = ANY (ARRAY['IMMEDIATE'::text, 'DELAYED'::text, 'AGGREGATE'::text]))),
    CONSTRAINT event_type_channel_routing_throttle_key CHECK (((throttle_key_path IS NULL) OR (throttle_window IS NOT NULL))),
    CONSTRAINT event_type_channel_routing_throttle_window CHECK (((throttle_window >= '00:00:01'::interval) AND (throttle_window <= '30 days'::interval))),
    CONSTRAINT event_type_channel_routing_time_of_send_at_path CHECK (((send_at_path IS NOT NULL) OR ((send_before = '00:00:00'::interval) AND (NOT skip_if_past))))
);

-- The delivery that follows over another channel if one does not arrive in time, or fails. The rules decide about it at that moment. Rows may form a chain, PUSH to SMS to EMAIL, and no circle.
CREATE TABLE event_type_escalation (
    event_type text NOT NULL, -- event_outbox.event_type.
    from_channel text NOT NULL, -- The channel of the first delivery. Both channels need a row in event_type_channel_routing that is not AGGREGATE.
    to_channel text NOT NULL, -- The channel of the delivery that follows. Its routing may be on_escalation_only.
    after interval NOT NULL, -- Wait from the time of sending: 1 second to 30 days. A failed delivery escalates at once.
    until text NOT NULL, -- DELIVERED: the wait ends when the message has arrived or was read; from_channel must be able to know that (channel.confirms). READ: when the recipient has read any notification of the event.
    if_unreachable boolean DEFAULT true NOT NULL, -- true: a recipient without a usable address for from_channel is told over to_channel at once. false: nothing follows.
    confirms boolean GENERATED ALWAYS AS (
CASE until
    WHEN 'DELIVERED'::text THEN true
    ELSE NULL::boolean
END) STORED, -- Herald's: true if until is DELIVERED.
    CONSTRAINT event_type_escalation_pkey PRIMARY KEY (event_type, from_channel),
    CONSTRAINT event_type_escalation_from FOREIGN KEY (event_type, from_channel) REFERENCES event_type_channel_routing(event_type, channel_type),
    CONSTRAINT event_type_escalation_known FOREIGN KEY (from_channel, confirms) REFERENCES channel(channel_type, confirms),
    CONSTRAINT event_type_escalation_to FOREIGN KEY (event_type, to_channel) REFERENCES event_type_channel_routing(event_type, channel_type),
    CONSTRAINT event_type_escalation_after CHECK (((after >= '00:00:01'::interval) AND (after <= '30 days'::interval))),
    CONSTRAINT event_type_escalation_until CHECK ((until = ANY (ARRAY['DELIVERED'::text, 'READ'::text])))
);
CREATE TRIGGER event_type_escalation_no_circle BEFORE INSERT OR UPDATE ON event_type_escalation FOR EACH ROW EXECUTE FUNCTION event_type_escalation_no_circle();

-- The recipients of an event type. A row names a group or a person. A recipient in several rows is told once. Without a row the aggregate decides: RESTAURANT, its active members; AGENCY, its members with the role AGENT or MANAGER; CUSTOMER, that customer; ADMIN, all active admins; BROADCAST, all active recipients.
CREATE TABLE event_type_recipients (
    id bigint GENERATED ALWAYS AS IDENTITY, -- Number of the row.
    event_type text NOT NULL, -- event_outbox.event_type.
    user_type text, -- Only recipients of this user_type. Null: any type.
    entity_type text NOT NULL, -- CUSTOMER: the customer at entity_id_path. ADMIN: all active admins. BROADCAST: all active recipients. Any other word: the active members of that entity.
    entity_id_path text, -- Where the id is in the payload: restaurantId, customer.id. With commas, the first path that exists counts. @aggregate: aggregate_id, if aggregate_type is entity_type. Null for ADMIN and BROADCAST.
    roles text[], -- Only members with one of these roles. Null: any role. Empty: nobody. FOLLOWER tells everybody who chooses to follow the entity, which any signed-in person may do. CUSTOMER, ADMIN and BROADCAST ignore it.
    CONSTRAINT event_type_recipients_pkey PRIMARY KEY (id),
    CONSTRAINT event_type_recipients_once UNIQUE NULLS NOT DISTINCT (event_type, user_type, entity_type, entity_id_path),
    CONSTRAINT event_type_recipients_user_type FOREIGN KEY (user_type) REFERENCES user_type(user_type),
    CONSTRAINT event_type_recipients_path CHECK (((entity_type = ANY (ARRAY['ADMIN'::text, 'BROADCAST'::text])) OR (COALESCE(entity_id_path, ''::text) <> ''::text)))
);

-- What the payloads of an event type look like. POST /api/events refuses other payloads, and `starter check` finds them among the last events. An INSERT is not checked.
CREATE TABLE event_type_schema (
    event_type text NOT NULL, -- event_outbox.event_type.
    payload_schema jsonb NOT NULL, -- A JSON Schema of draft 2020-12, up to 64 KiB. A $ref stays in the schema; format is checked.
    CONSTRAINT event_type_schema_pkey PRIMARY KEY (event_type),
    CONSTRAINT event_type_schema_object CHECK ((jsonb_typeof(payload_schema) = 'object'::text)),
    CONSTRAINT event_type_schema_size CHECK ((octet_length((payload_schema)::text) <= 65536))
);

-- Limits on the messages to one recipient over a channel.
CREATE TABLE frequency_cap (
    channel_type text NOT NULL, -- The channel that is limited.
    category text, -- Limits the messages of this category. Null: all messages over the channel together. If both rows exist, both limits hold.
    at_most integer, -- A recipient gets at most so many messages in any window of per: 1 to 100. Mandatory messages are sent, and count. Null: only spacing limits.
    per interval, -- The window of at_most: 1 second to 31 days. A day has 24 hours.
    spacing interval, -- The least time between two messages: 1 second to 31 days. Null: none.
    action text DEFAULT 'DROP'::text NOT NULL, -- What happens to a message over the limit. DROP: it is not sent (CAPPED). DEFER: it waits until there is room.
    CONSTRAINT frequency_cap_once UNIQUE NULLS NOT DISTINCT (channel_type, category),
    CONSTRAINT frequency_cap_channel FOREIGN KEY (channel_type) REFERENCES channel(channel_type),
    CONSTRAINT frequency_cap_action CHECK ((action = ANY (ARRAY['DROP'::text, 'DEFER'::text]))),
    CONSTRAINT frequency_cap_at_most CHECK (((at_most >= 1) AND (at_most <= 100))),
    CONSTRAINT frequency_cap_limit CHECK ((((at_most IS NULL) = (per IS NULL)) AND ((at_most IS NOT NULL) OR (spacing IS NOT NULL)))),
    CONSTRAINT frequency_cap_per CHECK (((per >= '00:00:01'::interval) AND (per <= '31 days'::interval))),
    CONSTRAINT frequency_cap_spacing CHECK (((spacing >= '00:00:01'::interval) AND (spacing <= '31 days'::interval)))
);

-- Tickets, each for one socket at any gateway.
CREATE TABLE gateway_ticket (
    ticket_hash bytea NOT NULL, -- Of the ticket, which stands nowhere.
    user_type text NOT NULL, -- Of the recipient.
    user_id text NOT NULL, -- Of the recipient.
    token_expires_at timestamp with time zone NOT NULL, -- When the token expires by which the ticket was given, and with it the socket.
    expires_at timestamp with time zone NOT NULL, -- When the ticket expires.
    CONSTRAINT gateway_ticket_pkey PRIMARY KEY (ticket_hash)
);
CREATE INDEX gateway_ticket_expires_at ON gateway_ticket USING btree (expires_at);
CREATE TRIGGER leave_out_erased BEFORE INSERT ON gateway_ticket FOR EACH ROW EXECUTE FUNCTION leave_out_erased();

-- The fingerprints of the secrets by which this database knows addresses.
CREATE TABLE herald_secret (
    fingerprint text NOT NULL, -- A hash of the secret, from which nobody can find the secret.
    since timestamp with time zone DEFAULT now() NOT NULL, -- When the secret was first used.
    superseded_at timestamp with time zone, -- When a process first came with a newer secret, and with this one as HERALD_SECRET_PREVIOUS. Null: this is the present HERALD_SECRET.
    rekeyed_at timestamp with time zone, -- When `starter secret rekey` began to move suppressions to the newer secret. From then on a process that knows this secret alone does not start. Null: not yet.
    CONSTRAINT herald_secret_pkey PRIMARY KEY (fingerprint)
);
CREATE UNIQUE INDEX herald_secret_one_current ON herald_secret USING btree ((true)) WHERE (superseded_at IS NULL);

-- What became of deliveries, for the source lifecycle: ids, reasons and times. It has the form of a wallet-hub outbox.
CREATE TABLE lifecycle_event (
    id bigint GENERATED ALWAYS AS IDENTITY, -- The order of changes of one delivery. lifecycle-{id} is the id that receivers get.
    event_type text NOT NULL, -- What happened: delivery.sent.
    payload json NOT NULL, -- The message, without text and address.
    correlation_id text, -- That of the event. Null: it has none.
    created_at timestamp with time zone DEFAULT now() NOT NULL, -- When the transaction that changed the delivery began.
    sent boolean DEFAULT false NOT NULL, -- Whether the topic or the webhook has it.
    CONSTRAINT lifecycle_event_pkey PRIMARY KEY (id)
);

-- People who were merged into another person. What they click, choose or sign in with counts for that person. `starter recipient merge` writes it; an erasure of the other person deletes the row.
CREATE TABLE merged_recipient (
    user_type text NOT NULL, -- Type of the recipient.
    user_id text NOT NULL, -- Id of the recipient.
    to_user_type text NOT NULL, -- Type of the other person, who has no row here: a later merge of that person changes this row.
    to_user_id text NOT NULL, -- Id of the other person.
    merged_at timestamp with time zone DEFAULT now() NOT NULL, -- When the first run of the merge began.
    CONSTRAINT merged_recipient_pkey PRIMARY KEY (user_type, user_id),
    CONSTRAINT merged_recipient_differs CHECK (((user_type <> to_user_type) OR (user_id <> to_user_id)))
);
CREATE INDEX merged_recipient_to ON merged_recipient USING btree (to_user_type, to_user_id);

-- The deliveries: one for each event, recipient and channel that was SELECTED. Herald alone writes it.
CREATE TABLE notification (
    id bigint GENERATED ALWAYS AS IDENTITY, -- Of the row; notification_id in websocket messages.
    event_id text NOT NULL, -- Of the event.
    event_type text NOT NULL, -- Of the event.
    user_type text NOT NULL, -- Of the recipient.
    user_id text NOT NULL, -- Of the recipient.
    channel text NOT NULL, -- Of the delivery.
    delivery_id text NOT NULL, -- Its name for operators and providers, and its workflow ID: evt-1-staff10-EMAIL.
    title text, -- The text, written when the event was planned. Null: it could not be written, and last_error says why.
    body text, -- As the title; HTML for EMAIL.
    recipient_address text, -- Address, number or webhook of the last attempt; before the first attempt, of the planning. Null: the channel has no addresses (WEBSOCKET, PUSH).
    status text DEFAULT 'PENDING'::text NOT NULL, -- PENDING: not sent yet. SENT: the provider accepted it. DELIVERED: a receipt says that it arrived; of WEBSOCKET, a client of the recipient acknowledged it, or they read it. FAILED: refused, attempts used up, or no text; or a receipt says that it did not arrive (receipt_failed). CANCELLED: by an operator, or dropped after a wait; last_error says which.
    strategy text DEFAULT 'IMMEDIATE'::text NOT NULL, -- IMMEDIATE, DELAYED or AGGREGATE, as routed when it was planned.
    priority text DEFAULT 'NORMAL'::text NOT NULL, -- HIGH, NORMAL or LOW, by the routing or the preference.
    send_after timestamp with time zone, -- When it is to be sent: as planned for a delay or for the end of quiet hours, or as an operator rescheduled it. Null: at once, or with its digest.
    attempt_count integer DEFAULT 0 NOT NULL, -- Attempts that were begun, including the attempt under way and the attempts of its digest.
    last_error text, -- Why it is FAILED or CANCELLED, or what the last attempt met. It holds no address and no text.
    provider_message_id text, -- The provider's id of the message; null: it gave none.
    digest_id text, -- The digest that it is or was sent in; null: none.
    created_at timestamp with time zone DEFAULT now() NOT NULL, -- When it was planned.
    sent_at timestamp with time zone, -- When the provider accepted it.
    delivered_at timestamp with time zone, -- When it arrived, by a receipt; of WEBSOCKET, when a client acknowledged it or it was read.
    read_at timestamp with time zone, -- When it was read; null: not known to be.
    entity_type text, -- The group through which the recipient was told.
    entity_id text, -- Id of that group.
    correlation_id text, -- Of the event.
    restarts integer DEFAULT 0 NOT NULL, -- How often the sweep has started its workflow again, 3 times at most.
    available_at timestamp with time zone, -- When its first attempt ended, sent or failed, and so when it came into the inbox: ids become visible out of order, and a delayed row has an old one. Null: no attempt has ended.
    receipt_failed boolean DEFAULT false NOT NULL, -- true: it is FAILED because a receipt says so, such as a bounce, after its provider had accepted it. No later answer or receipt changes that; a retry begins anew.
    escalates boolean DEFAULT false NOT NULL, -- true: at planning it matched a row of event_type_escalation, and a workflow Escalate waits next to its delivery.
    escalated_from text, -- The delivery that it follows, since that one did not get there in time; null: its event planned it.
    attempt_owner text, -- Who makes the attempt that is under way: the id of a workflow, and a random word. Null: nobody does.
    attempt_until timestamp with time zone, -- Until then nobody else may begin an attempt. In the past: the process died; who begins the next attempt writes this one down as LOST.
    attempt_began timestamp with time zone, -- When the attempt that is under way began.
    next_attempt_at timestamp with time zone, -- When its next attempt is due: after one that failed for now, at the end of quiet hours or of a cap's wait, or when an operator wants it. No attempt begins before. Null: at once, or at send_after.
    operator_time text, -- NOW: an operator sends it now, even in quiet hours. LATER: an operator has rescheduled it, and no attempt has begun since. Null: neither.
    failed_child boolean, -- true: it failed for good in a batch, and the batch starts a failed workflow for it, so that operators find it in Temporal. false: the event has 1,000 of these already. Null: it did not fail in a batch.
    expires_at timestamp with time zone, -- No attempt begins from this time on: the delivery becomes CANCELLED with the reason EXPIRED. Set at planning. Null: no limit.
    collapse_key text, -- event_outbox.collapse_key of its event. Null: the event replaces no other one.
    collapse_seq bigint, -- event_outbox.seq of its event, with a collapse_key: newer events have greater numbers.
    replaced_by text, -- The newer event with the collapse_key that took its place. It is not sent any more, and not in the inbox. Null: none.
    provider text, -- The provider that has the message, or may have it after an attempt without a clear end: sendgrid, twilio. Null: none.
    url text, -- Where it leads, from notification_template.url. Null: nowhere.
    address_hash bytea, -- Hash of the planned address, if the routing tells each address once. Of an event and a channel, each address has one row. Null: the routing does not.
    member_role text, -- The role in the entity through which the event named the recipient: MANAGER, FOLLOWER. Null: the entity is the recipient, or has no roles.
    CONSTRAINT notification_pkey PRIMARY KEY (id),
    CONSTRAINT notification_delivery_id_once UNIQUE (delivery_id),
    CONSTRAINT notification_once UNIQUE (event_id, user_type, user_id, channel),
    CONSTRAINT notification_attempt_lease CHECK ((num_nulls(attempt_owner, attempt_until, attempt_began) = ANY (ARRAY[0, 3]))),
    CONSTRAINT notification_delivered_has_time CHECK (((status <> 'DELIVERED'::text) OR (delivered_at IS NOT NULL))),
    CONSTRAINT notification_failed_says_why CHECK (((status <> 'FAILED'::text) OR (last_error IS NOT NULL))),
    CONSTRAINT notification_operator_time CHECK ((operator_time = ANY (ARRAY['NOW'::text, 'LATER'::text]))),
    CONSTRAINT notification_priority CHECK ((priority = ANY (ARRAY['HIGH'::text, 'NORMAL'::text, 'LOW'::text]))),
    CONSTRAINT notification_sent_has_time CHECK (((status <> ALL (ARRAY['SENT'::text, 'DELIVERED'::text])) OR (sent_at IS NOT NULL))),
    CONSTRAINT notification_status CHECK ((status = ANY (ARRAY['PENDING'::text, 'SENT'::text, 'DELIVERED'::text, 'FAILED'::text, 'CANCELLED'::text]))),
    CONSTRAINT notification_strategy CHECK ((strategy = ANY (ARRAY['IMMEDIATE'::text, 'DELAYED'::text, 'AGGREGATE'::text]))),
    CONSTRAINT notification_text_or_reason CHECK ((((title IS NOT NULL) AND (body IS NOT NULL)) OR (last_error IS NOT NULL)))
) WITH (autovacuum_vacuum_scale_factor=0.02, autovacuum_analyze_scale_factor=0.02, fillfactor=45);
CREATE INDEX notification_collapse ON notification USING btree (user_type, user_id, event_type, collapse_key, collapse_seq) WHERE ((collapse_key IS NOT NULL) AND (replaced_by IS NULL));
CREATE INDEX notification_correlation_id ON notification USING btree (correlation_id, id) WHERE (correlation_id IS NOT NULL);
CREATE INDEX notification_created_at ON notification USING btree (created_at);
CREATE INDEX notification_failed_child ON notification USING btree (event_id) WHERE failed_child;
CREATE INDEX notification_inbox_newest ON notification USING btree (user_type, user_id, available_at, id) WHERE ((channel = 'WEBSOCKET'::text) AND (available_at IS NOT NULL) AND (replaced_by IS NULL));
CREATE INDEX notification_long_delivery_id ON notification USING btree (long_id_hash(delivery_id)) WHERE ((channel = 'SMS'::text) AND (octet_length(delivery_id) > 100));
CREATE INDEX notification_long_digest_id ON notification USING btree (long_id_hash(digest_id)) WHERE ((channel = 'SMS'::text) AND (octet_length(digest_id) > 100));
CREATE INDEX notification_of_digest ON notification USING btree (digest_id) WHERE (digest_id IS NOT NULL);
CREATE INDEX notification_of_user ON notification USING btree (user_type, user_id, id DESC);
CREATE INDEX notification_to_aggregate ON notification USING btree (user_type, user_id, channel, event_type, id) WHERE ((strategy = 'AGGREGATE'::text) AND (status = 'PENDING'::text));
CREATE INDEX notification_to_deliver ON notification USING btree (event_id, channel, (
CASE
    WHEN ((send_after IS NULL) AND (strategy <> 'AGGREGATE'::text) AND (NOT escalates)) THEN 'NOW'::text
    ELSE 'LATER'::text
END), id) WHERE ((status = ANY (ARRAY['PENDING'::text, 'FAILED'::text])) OR escalates);
CREATE INDEX notification_unread_newest ON notification USING btree (user_type, user_id, available_at, id) WHERE ((channel = 'WEBSOCKET'::text) AND (available_at IS NOT NULL) AND (replaced_by IS NULL) AND (read_at IS NULL));
CREATE INDEX notification_unsent ON notification USING btree (status, id) WHERE (status = ANY (ARRAY['PENDING'::text, 'FAILED'::text]));
CREATE UNIQUE INDEX notification_once_per_address ON notification USING btree (event_id, channel, address_hash) WHERE (address_hash IS NOT NULL);

-- The decisions about each recipient of an event.
CREATE TABLE notification_decision (
    event_id text NOT NULL, -- Of the event.
    user_type text NOT NULL, -- Of the recipient.
    user_id text NOT NULL, -- Of the recipient.
    decided_at timestamp with time zone DEFAULT now() NOT NULL, -- When the event was planned.
    channels jsonb NOT NULL, -- The decision for each channel of the event type: {"EMAIL": "SELECTED", "PUSH": "USER_DISABLED"}.
    throttled_by jsonb, -- The deliveries that the recipient got instead, by channel: {"SMS": "evt-1-customer42-SMS"}. Null: no decision is THROTTLED.
    CONSTRAINT notification_decision_pkey PRIMARY KEY (event_id, user_type, user_id),
    CONSTRAINT notification_decision_channels CHECK ((jsonb_typeof(channels) = 'object'::text))
) WITH (autovacuum_vacuum_scale_factor=0.02, autovacuum_analyze_scale_factor=0.02);
CREATE INDEX notification_decision_decided_at ON notification_decision USING btree (decided_at);
CREATE INDEX notification_decision_recipient ON notification_decision USING btree (user_type, user_id, decided_at);

-- What stands around the texts of the templates that name it, such as a header and a footer.
CREATE TABLE notification_layout (
    name text NOT NULL, -- The name in notification_template.layout.
    locale text DEFAULT 'en'::text NOT NULL, -- en, it, it-CH. The locale of the template counts: of it-CH, then it, then en, the first that exists.
    body text NOT NULL, -- A template in the markup of the channel, with {{block}} where the text goes. It may use .unsubscribe_url, .preferences_url, .reason, .event and .recipient.
    CONSTRAINT notification_layout_pkey PRIMARY KEY (name, locale),
    CONSTRAINT notification_layout_locale CHECK ((locale ~ '^[A-Za-z]{2,8}([-_][A-Za-z0-9]{1,8}){0,5}$'::text)),
    CONSTRAINT notification_layout_name CHECK ((name ~ '^[A-Za-z0-9][A-Za-z0-9_.-]{0,49}$'::text)),
    CONSTRAINT notification_layout_size CHECK (((octet_length(body) >= 1) AND (octet_length(body) <= 65536)))
);

-- The texts, as Go templates. The most specific row counts: first by event type, then by channel, then by locale. A delivery without a row is FAILED.
CREATE TABLE notification_template (
    event_type text DEFAULT '*'::text NOT NULL, -- The event type; *: all. digest: of digests. REVIEW_POSTED.digest: of digests of one event type.
    channel text DEFAULT '*'::text NOT NULL, -- The channel; *: all. A body for * is plain text, which EMAIL and SLACK turn into their markup.
    locale text DEFAULT 'en'::text NOT NULL, -- en, it, it-CH. Upper and lower case, - and _ are the same.
    title text NOT NULL, -- Template of the title: one line of plain text. EMAIL needs one.
    body text NOT NULL, -- Template of the body: HTML for EMAIL, mrkdwn for SLACK, both of which escape values, else plain text.
    channel_type text GENERATED ALWAYS AS (NULLIF(channel, '*'::text)) STORED, -- channel as a reference to the table channel; null: *.
    shipped boolean DEFAULT false NOT NULL, -- true: the row came with Herald, and nobody changed it. An INSERT of the same key replaces it.
    url text, -- Template of the link, over WEBSOCKET, WEBHOOK, PUSH and SLACK. Null: no link.
    layout text, -- The name of a notification_layout. With channel *, it holds for EMAIL alone. The items of a digest have none: the digest's own template has one. Null: none.
    CONSTRAINT notification_template_pkey PRIMARY KEY (event_type, channel, locale),
    CONSTRAINT notification_template_channel FOREIGN KEY (channel_type) REFERENCES channel(channel_type),
    CONSTRAINT notification_template_size CHECK (((octet_length(title) + octet_length(body)) <= 65536))
);
CREATE TRIGGER notification_template_shipped BEFORE INSERT OR UPDATE ON notification_template FOR EACH ROW EXECUTE FUNCTION replace_shipped_template();

-- What operators changed through starter. Temporal's histories hold the changes of its Web UI.
CREATE TABLE operator_action (
    id bigint GENERATED ALWAYS AS IDENTITY, -- Of the row.
    at timestamp with time zone DEFAULT now() NOT NULL, -- When it was ordered, before it was done.
    actor text NOT NULL, -- HERALD_ACTOR, else user@host: the name that the actor gives. db_user is the name that the database knows.
    command text NOT NULL, -- event retry, delivery cancel, purge.
    target text NOT NULL, -- An event id, a delivery id, a poller's workflow ID or a table; for many: the filter.
    detail text DEFAULT ''::text NOT NULL, -- The flags, and how many were changed. It holds no address and no text.
    db_user text DEFAULT SESSION_USER, -- The role that was logged in to the database.
    form text, -- The id of the console's form, which works once. Null: the order came from starter.
    CONSTRAINT operator_action_pkey PRIMARY KEY (id)
);
CREATE INDEX operator_action_at ON operator_action USING btree (at);
CREATE INDEX operator_action_target ON operator_action USING btree (target, id);
CREATE UNIQUE INDEX operator_action_form ON operator_action USING btree (form) WHERE (form IS NOT NULL);

-- The outbox pollers that operators want to run. `starter poller start` adds them, `starter poller stop` deletes them. If Temporal has lost them, `starter restore` starts them again.
CREATE TABLE poller (
    source text NOT NULL, -- The outbox that it polls: herald, or a name in OUTBOX_SOURCES.
    number integer NOT NULL, -- Which of the pollers of that outbox, from 1.
    paused_since timestamp with time zone, -- When an operator paused it. Null: it polls.
    CONSTRAINT poller_pkey PRIMARY KEY (source, number),
    CONSTRAINT poller_number CHECK ((number > 0))
);

-- Each change of user_notification_preferences, user_category_preferences, user_settings, entity_follow and entity_mute. Triggers write it.
CREATE TABLE preference_change (
    id bigint GENERATED ALWAYS AS IDENTITY, -- The order of the changes of one setting.
    at timestamp with time zone DEFAULT now() NOT NULL, -- When the transaction of the change began.
    user_type text NOT NULL, -- Type of the recipient.
    user_id text NOT NULL, -- Id of the recipient.
    setting text NOT NULL, -- ENABLED, QUIET_HOURS, PRIORITY, TIMEZONE, DIGEST_AT, FOLLOW or MUTE.
    channel text, -- One of channel. Null: the setting holds for all.
    category text, -- event_category.category. Null: the setting holds for all.
    old_value text, -- true, 22:00–08:00, NORMAL, Europe/Rome, 08:00 or IMPORTANT. Null: no quiet hours, the zone of the directory, the usual time, not followed.
    new_value text, -- As old_value.
    changed_by text DEFAULT COALESCE(NULLIF(current_setting('herald.changed_by'::text, true), ''::text), (SESSION_USER)::text) NOT NULL, -- Who changed it: inbox, link, unsubscribe link, sendgrid, else the role of the session.
    entity_type text, -- Kind of the entity that the person follows or has muted. Null: the setting is not FOLLOW or MUTE.
    entity_id text, -- Id of the entity.
    CONSTRAINT preference_change_pkey PRIMARY KEY (user_type, user_id, id),
    CONSTRAINT preference_change_differs CHECK ((old_value IS DISTINCT FROM new_value)),
    CONSTRAINT preference_change_setting CHECK ((setting = ANY (ARRAY['ENABLED'::text, 'QUIET_HOURS'::text, 'PRIORITY'::text, 'TIMEZONE'::text, 'DIGEST_AT'::text, 'FOLLOW'::text, 'MUTE'::text]))) NOT VALID
);
CREATE INDEX preference_change_at ON preference_change USING btree (at);

-- The started events. Temporal forgets a workflow ID after its retention; this table does not.
CREATE TABLE processed_event (
    event_id text NOT NULL, -- event_outbox.event_id, whose row may have been purged.
    status text DEFAULT 'PROCESSING'::text NOT NULL, -- PROCESSING: its workflow runs. SUCCESS: all deliveries have ended, also where some have failed. FAILED: the workflow failed, was cancelled or terminated, or was lost three times.
    created_at timestamp with time zone DEFAULT now() NOT NULL, -- When its workflow was started.
    updated_at timestamp with time zone DEFAULT now() NOT NULL, -- When the status last changed.
    outcome text, -- How an event ended that did not simply reach people: NO_RECIPIENTS and NO_ROUTING told nobody, PROBLEM told some and has a problem, INCOMPLETE left deliveries PENDING to the sweep, CANCELLED and FAILED ended early. Null: it reached people, or has not ended.
    restarts integer DEFAULT 0 NOT NULL, -- How often the sweep has started its workflow again: 3 times at most, except after a rollback of workers.
    problem text, -- Which rows of the rules named nobody, and why. It holds paths and types, and nothing of the payload. Null: none.
    CONSTRAINT processed_event_pkey PRIMARY KEY (event_id),
    CONSTRAINT processed_event_status CHECK ((status = ANY (ARRAY['PROCESSING'::text, 'SUCCESS'::text, 'FAILED'::text])))
);
CREATE INDEX processed_event_created_at ON processed_event USING btree (created_at);
CREATE INDEX processed_event_failed_id ON processed_event USING btree (event_id) WHERE (status = 'FAILED'::text);
CREATE INDEX processed_event_outcome_at ON processed_event USING btree (outcome, updated_at) WHERE (outcome IS NOT NULL);
CREATE INDEX processed_event_outcome_id ON processed_event USING btree (outcome, event_id) WHERE (outcome IS NOT NULL);
CREATE INDEX processed_event_processing ON processed_event USING btree (event_id) WHERE (status = 'PROCESSING'::text);

-- Providers that have rested, or that an operator has paused or chosen. All processes read it every two seconds.
CREATE TABLE provider_state (
    provider text NOT NULL, -- sendgrid, smtp, twilio, vonage, fcm or webpush.
    rests integer DEFAULT 0 NOT NULL, -- Rests in a row. 0: it works.
    rests_until timestamp with time zone, -- Then one process sends one message as a probe. Null: it works.
    failure text, -- The failure before the last rest.
    override text, -- The operator's order. PAUSED: it gets no messages. USED: it is asked first, even if it fails. Null: none.
    override_by text, -- The operator.
    override_reason text, -- The operator's reason.
    changed_at timestamp with time zone DEFAULT now() NOT NULL, -- When the row was last changed.
    CONSTRAINT provider_state_pkey PRIMARY KEY (provider),
    CONSTRAINT provider_state_failure_check CHECK ((length(failure) <= 500)),
    CONSTRAINT provider_state_override CHECK (((override IS NULL) = (override_by IS NULL))),
    CONSTRAINT provider_state_override_check CHECK ((override = ANY (ARRAY['PAUSED'::text, 'USED'::text]))),
    CONSTRAINT provider_state_provider_check CHECK ((provider ~ '^[a-z]{1,20}$'::text)),
    CONSTRAINT provider_state_rests CHECK (((rests > 0) = (rests_until IS NOT NULL))),
    CONSTRAINT provider_state_rests_check CHECK ((rests >= 0))
);

-- The recipients and their addresses. It may be a view of your tables: Herald only reads it.
CREATE TABLE recipient (
    user_type text NOT NULL, -- A row of user_type, such as CUSTOMER. With user_id, the key.
    user_id text NOT NULL, -- Your id of the person, unique within the type: 1 to 64 bytes, printable. It is in workflow ids and logs, so use no address. Herald orders numbers as numbers.
    name text DEFAULT ''::text NOT NULL, -- For templates: .recipient.name.
    email text, -- Address for EMAIL; spaces around it and letters of any language in the domain are fine. Null or blank: decision NO_ADDRESS.
    phone text, -- Number for SMS with its country code, such as +41791234567 or +41 79 123 45 67, but not +41 (0)79. Null or blank: no SMS.
    slack_webhook_url text, -- Incoming webhook for SLACK, at one of SLACK_ALLOWED_HOSTS; a secret. Null or empty: no Slack.
    locale text DEFAULT 'en'::text NOT NULL, -- Language of the texts: it, it-CH, zh-Hant-TW. Herald drops the last part until it finds a template: zh-Hant, zh. Then it takes en.
    timezone text DEFAULT 'UTC'::text NOT NULL, -- IANA time zone for quiet hours, such as Europe/Rome. An unknown one counts as UTC; `starter check` names it.
    active boolean DEFAULT true NOT NULL, -- false: the recipient gets nothing, not even a waiting delivery.
    webhook_url text, -- URL for WEBHOOK, at one of WEBHOOK_ALLOWED_HOSTS; a secret. Null or empty: no webhook.
    CONSTRAINT recipient_pkey PRIMARY KEY (user_type, user_id),
    CONSTRAINT recipient_user_type FOREIGN KEY (user_type) REFERENCES user_type(user_type),
    CONSTRAINT recipient_user_id_length CHECK (((octet_length(user_id) >= 1) AND (octet_length(user_id) <= 64))),
    CONSTRAINT recipient_user_id_printable CHECK ((user_id !~ '[[:cntrl:]]'::text))
);
CREATE INDEX recipient_in_order ON recipient USING btree (user_type, (
CASE
    WHEN (user_id ~ '^[0-9]{1,18}$'::text) THEN (user_id)::bigint
    ELSE '9223372036854775807'::bigint
END), user_id) WHERE active;

-- The devices of recipients. PUSH sends one message to each active device, and is SENT when one device took it. It may be a view whose column active can be updated.
CREATE TABLE recipient_device (
    user_type text NOT NULL, -- Type of the recipient.
    user_id text NOT NULL, -- Id of the recipient.
    token text NOT NULL, -- Registration token of Firebase Cloud Messaging, or the JSON of a browser's PushSubscription, which begins with {. Up to 1,024 bytes; a secret.
    active boolean DEFAULT true NOT NULL, -- false: the device gets nothing. Herald sets it when Firebase or the browser's push service calls the token dead, and changes nothing else in the directory.
    registered_at timestamp with time zone DEFAULT now() NOT NULL, -- When the device was last registered. A push goes to the 50 newest devices. A view may leave it out.
    CONSTRAINT recipient_device_pkey PRIMARY KEY (user_type, user_id, token),
    CONSTRAINT recipient_device_of_recipient FOREIGN KEY (user_type, user_id) REFERENCES recipient(user_type, user_id) ON DELETE CASCADE,
    CONSTRAINT recipient_device_token_length CHECK (((octet_length(token) >= 1) AND (octet_length(token) <= 1024)))
);
CREATE INDEX recipient_device_token ON recipient_device USING btree (token);
CREATE TRIGGER leave_out_erased BEFORE INSERT ON recipient_device FOR EACH ROW EXECUTE FUNCTION leave_out_erased();

-- Addresses that get no message, mandatory or not (SUPPRESSED): they do not work, or their owner refused.
CREATE TABLE recipient_suppression (
    channel text NOT NULL, -- One of channel.
    address_hash bytea NOT NULL, -- HMAC-SHA256 of the address with a key from the secret: no column holds the address.
    reason text NOT NULL, -- BOUNCE: the mailbox does not exist. COMPLAINT: it was reported as spam. OPT_OUT: the number answered STOP; START takes that back, and nothing else. INVALID: the provider says that it is no number, or none that gets messages.
    detail text, -- The provider's or the operator's words, without an address; null: none.
    since timestamp with time zone DEFAULT now() NOT NULL, -- Since when.
    secret text, -- herald_secret.fingerprint of the secret behind address_hash, which stays known as long as a suppression needs it.
    twin boolean DEFAULT false NOT NULL, -- true: the suppression stands under the newer secret too. This row is for processes that know the previous secret alone; `starter secret rekey` deletes it.
    CONSTRAINT recipient_suppression_pkey PRIMARY KEY (channel, address_hash, reason),
    CONSTRAINT recipient_suppression_channel FOREIGN KEY (channel) REFERENCES channel(channel_type),
    CONSTRAINT recipient_suppression_secret_fkey FOREIGN KEY (secret) REFERENCES herald_secret(fingerprint),
    CONSTRAINT recipient_suppression_detail_length CHECK ((octet_length(detail) <= 1000)),
    CONSTRAINT recipient_suppression_hash CHECK ((octet_length(address_hash) = 32)),
    CONSTRAINT recipient_suppression_reason CHECK ((reason = ANY (ARRAY['BOUNCE'::text, 'COMPLAINT'::text, 'OPT_OUT'::text, 'INVALID'::text])))
);
CREATE INDEX recipient_suppression_since ON recipient_suppression USING btree (since, channel, address_hash, reason);

-- Whom a sender reached on each day, as samples of hashes. The sweep counts receipts; rows leave after 8 days.
CREATE TABLE sender_count (
    channel text NOT NULL, -- EMAIL or SMS.
    provider text NOT NULL, -- notification.provider.
    sender text NOT NULL, -- delivery_attempt.sender.
    since timestamp with time zone NOT NULL, -- Midnight in UTC of the day of notification.sent_at, or sender_state.resumed_at for messages after the resume on that day.
    kind text NOT NULL, -- RECIPIENT: a receipt tells if a message arrived. COMPLAINT, BOUNCE, BLOCK: delivery_receipt.harm.
    recipients bigint[] NOT NULL, -- The 4,096 smallest hashes of the recipients. Fewer hashes are all of them; 4,096 tell the number of recipients to about 2 %.
    CONSTRAINT sender_count_pkey PRIMARY KEY (channel, provider, sender, since, kind),
    CONSTRAINT sender_count_channel FOREIGN KEY (channel) REFERENCES channel(channel_type),
    CONSTRAINT sender_count_kind CHECK ((kind = ANY (ARRAY['RECIPIENT'::text, 'COMPLAINT'::text, 'BOUNCE'::text, 'BLOCK'::text]))),
    CONSTRAINT sender_count_size CHECK (((cardinality(recipients) >= 1) AND (cardinality(recipients) <= 4096)))
);

-- The senders, what recipients and carriers said of them within seven days, and whether their optional messages are paused. All workers read it every two seconds.
CREATE TABLE sender_state (
    channel text NOT NULL, -- EMAIL or SMS.
    provider text NOT NULL, -- notification.provider.
    sender text NOT NULL, -- delivery_attempt.sender.
    recipients bigint DEFAULT 0 NOT NULL, -- Recipients of messages that were sent within seven days, and since resumed_at, with a receipt. While paused, the counts stay as they were.
    complaints bigint DEFAULT 0 NOT NULL, -- How many of them reported a message as spam.
    bounces bigint DEFAULT 0 NOT NULL, -- How many of them have a mailbox that does not exist.
    blocks bigint DEFAULT 0 NOT NULL, -- How many of them have a carrier that blocked a text message.
    counted_at timestamp with time zone DEFAULT now() NOT NULL, -- When the sweep counted last.
    paused_at timestamp with time zone, -- Since when the optional messages of the sender wait, at all providers of the channel. Null: they are sent.
    resumed_at timestamp with time zone, -- When an operator last resumed the sender. Messages sent before count no more. Null: never.
    resumed_by text, -- HERALD_ACTOR, else user@host.
    resume_reason text, -- Why, in their words.
    CONSTRAINT sender_state_pkey PRIMARY KEY (channel, provider, sender),
    CONSTRAINT sender_state_channel FOREIGN KEY (channel) REFERENCES channel(channel_type),
    CONSTRAINT sender_state_counts CHECK ((LEAST(recipients, complaints, bounces, blocks) >= 0)),
    CONSTRAINT sender_state_resumed CHECK ((num_nulls(resumed_at, resumed_by, resume_reason) = ANY (ARRAY[0, 3])))
);

-- The position of the pollers in each outbox. A new poller continues where the last owner of its slots ended.
CREATE TABLE source_position (
    source text NOT NULL, -- The outbox.
    slots integer[] NOT NULL, -- The parts of the outbox's keys that the poller owns.
    owner text NOT NULL, -- The poller that owns the slots, or did last.
    position jsonb, -- The cursors of the poller's walk, when it ended. Null: the poller runs or has died, and the next walk begins at the first row.
    CONSTRAINT source_position_pkey PRIMARY KEY (source, slots)
);

-- Rows of outboxes that their topic refused, that cannot tell people, or that cannot be marked in their table.
CREATE TABLE source_row (
    source text NOT NULL, -- The outbox of the row.
    row_key text NOT NULL, -- The primary key of the row in its own table, as text.
    event_id text NOT NULL, -- The id of the row's event, as in the header event_id of its record.
    key_hash bigint, -- A hash of the record's key. While the record waits, later rows with the same hash wait. Null: the record has no key.
    refusals integer DEFAULT 0 NOT NULL, -- How often the topic refused the record, since the row was last begun.
    next_attempt_at timestamp with time zone, -- When the record is produced again, or the row is marked again.
    error text, -- What the topic, or the row's own table, said last.
    people_error text, -- Why the row tells no people. Its topic gets it all the same.
    sent_at timestamp with time zone, -- When the row was sent. The row is here because it could not be marked in its own table, or tells no people.
    failed_at timestamp with time zone, -- When the row was given up. `starter source retry` begins it again.
    marked_at timestamp with time zone, -- When the row was marked in its own table. A failed row that is pending there after that was set back by its service.
    CONSTRAINT source_row_pkey PRIMARY KEY (source, row_key),
    CONSTRAINT source_row_failed_says_why CHECK (((failed_at IS NULL) OR (error IS NOT NULL))),
    CONSTRAINT source_row_one_end CHECK (((sent_at IS NULL) OR (failed_at IS NULL))),
    CONSTRAINT source_row_refusals CHECK ((refusals >= 0))
);
CREATE INDEX source_row_failed ON source_row USING btree (source, failed_at) WHERE (failed_at IS NOT NULL);
CREATE INDEX source_row_held ON source_row USING btree (source, key_hash) WHERE ((refusals > 0) AND (sent_at IS NULL) AND (failed_at IS NULL));

-- The last event of event_outbox from before Herald's own outbox got a topic.
CREATE TABLE source_start (
    source text NOT NULL, -- herald.
    seq bigint NOT NULL, -- event_outbox.seq of that event.
    CONSTRAINT source_start_pkey PRIMARY KEY (source)
);

-- Topics that rest: they do not exist, Herald may not write them, or they have no leader.
CREATE TABLE source_topic (
    source text NOT NULL, -- The outbox whose rows go to the topic.
    topic text NOT NULL, -- The topic.
    resting_since timestamp with time zone DEFAULT now() NOT NULL, -- When the topic first took no record.
    next_attempt_at timestamp with time zone NOT NULL, -- When the topic is asked again.
    error text NOT NULL, -- What the broker said last.
    CONSTRAINT source_topic_pkey PRIMARY KEY (source, topic)
);

-- The results of the last sweeps.
CREATE TABLE sweep (
    id bigint GENERATED ALWAYS AS IDENTITY, -- Of the row.
    at timestamp with time zone DEFAULT now() NOT NULL, -- When it ended.
    looked integer NOT NULL, -- Events and deliveries whose workflow it asked for.
    started_again integer NOT NULL, -- Workflows that were lost or never started, and that it started.
    closed integer NOT NULL, -- Events and deliveries whose workflow an operator had terminated.
    failed integer NOT NULL, -- Events and deliveries that it gave up, started again three times in vain.
    after_event text NOT NULL, -- The event at which the next sweep continues; empty: from the beginning.
    after_notification bigint NOT NULL, -- The notification.id at which the next sweep continues; 0: from the beginning.
    after_waiting_event text DEFAULT ''::text NOT NULL, -- The event at which the next sweep continues among events that wait by design; empty: from the beginning.
    ambiguous integer DEFAULT 0 NOT NULL, -- Open events and deliveries whose workflow completed: Postgres lost their end, and their message may have been sent.
    receipts_to timestamp with time zone, -- delivery_receipt.received_at up to which sender_count has all receipts. Null: the sweep counted none, as a worker of 1.0.
    CONSTRAINT sweep_pkey PRIMARY KEY (id)
);

-- The last delivery of each recipient, event type, channel and key with a throttle_window. Planning locks the rows, so concurrent events take turns. The sweep deletes rows that are over.
CREATE TABLE throttle (
    user_type text NOT NULL, -- Type of the recipient.
    user_id text NOT NULL, -- Id of the recipient.
    event_type text NOT NULL, -- Of the events.
    channel_type text NOT NULL, -- Of the deliveries.
    throttle_key text NOT NULL, -- A hash of the value at throttle_key_path. Empty: none. first: the first delivery of a digest_first.
    delivery_id text, -- The delivery that was planned. Null: none, planning locks the row. A delivery that ended FAILED or CANCELLED throttles nothing.
    began_at timestamp with time zone, -- When the delivery was planned.
    ends_at timestamp with time zone DEFAULT now() NOT NULL, -- When the window ends, by the routing at planning.
    CONSTRAINT throttle_pkey PRIMARY KEY (user_type, user_id, event_type, channel_type, throttle_key),
    CONSTRAINT throttle_channel FOREIGN KEY (channel_type) REFERENCES channel(channel_type),
    CONSTRAINT throttle_user_type FOREIGN KEY (user_type) REFERENCES user_type(user_type)
);
CREATE INDEX throttle_ends ON throttle USING btree (ends_at);

-- What a recipient sets for a category over a channel.
CREATE TABLE user_category_preferences (
    user_type text NOT NULL, -- Of the recipient.
    user_id text NOT NULL, -- Of the recipient.
    category text NOT NULL, -- event_category.category, compared as it stands.
    channel_type text NOT NULL, -- One of channel.
    enabled boolean NOT NULL, -- false: they have switched the category off over the channel (USER_DISABLED). Where the event type is mandatory, it is ignored.
    changed_at timestamp with time zone, -- When enabled last changed.
    changed_by text, -- Who changed it: inbox, unsubscribe link, sendgrid, else the role of the session.
    CONSTRAINT user_category_preferences_pkey PRIMARY KEY (user_type, user_id, category, channel_type),
    CONSTRAINT user_category_preferences_channel FOREIGN KEY (channel_type) REFERENCES channel(channel_type),
    CONSTRAINT user_category_preferences_user_type FOREIGN KEY (user_type) REFERENCES user_type(user_type),
    CONSTRAINT user_category_preferences_category_length CHECK (((octet_length(category) >= 1) AND (octet_length(category) <= 60)))
);
CREATE TRIGGER leave_out_erased BEFORE INSERT ON user_category_preferences FOR EACH ROW EXECUTE FUNCTION leave_out_erased();
CREATE TRIGGER user_category_preferences_change AFTER INSERT OR DELETE OR UPDATE ON user_category_preferences FOR EACH ROW EXECUTE FUNCTION record_preference_change();
CREATE TRIGGER user_category_preferences_consent BEFORE INSERT OR UPDATE ON user_category_preferences FOR EACH ROW EXECUTE FUNCTION record_consent();

-- What a recipient sets for a channel. Without a row: on, no quiet hours, NORMAL.
CREATE TABLE user_notification_preferences (
    user_type text NOT NULL, -- Of the recipient.
    user_id text NOT NULL, -- Of the recipient.
    channel_type text NOT NULL, -- One of channel.
    enabled boolean DEFAULT true NOT NULL, -- false: the recipient switched the channel off (USER_DISABLED).
    quiet_hours_enabled boolean DEFAULT false NOT NULL, -- true: the recipient has quiet hours for EMAIL, PUSH or SMS, mandatory or not.
    quiet_hours_start time without time zone, -- Begin of the quiet hours, inclusive, by user_settings.timezone, else recipient.timezone. Start = end: never quiet.
    quiet_hours_end time without time zone, -- End of the quiet hours, exclusive. Earlier than the start: on the next day.
    priority text DEFAULT 'NORMAL'::text NOT NULL, -- HIGH, NORMAL or LOW, if the routing has no priority.
    changed_at timestamp with time zone, -- When enabled last changed.
    changed_by text, -- Who changed it: inbox, unsubscribe link, sendgrid, else the role of the session.
    CONSTRAINT user_notification_preferences_pkey PRIMARY KEY (user_type, user_id, channel_type),
    CONSTRAINT user_notification_preferences_channel FOREIGN KEY (channel_type) REFERENCES channel(channel_type),
    CONSTRAINT user_notification_preferences_user_type FOREIGN KEY (user_type) REFERENCES user_type(user_type),
    CONSTRAINT user_notification_preferences_priority CHECK ((priority = ANY (ARRAY['HIGH'::text, 'NORMAL'::text, 'LOW'::text]))),
    CONSTRAINT user_notification_preferences_quiet_hours CHECK (((NOT quiet_hours_enabled) OR ((quiet_hours_start IS NOT NULL) AND (quiet_hours_end IS NOT NULL)))),
    CONSTRAINT user_notification_preferences_quiet_hours_differ CHECK (((NOT quiet_hours_enabled) OR (quiet_hours_start <> quiet_hours_end))),
    CONSTRAINT user_notification_preferences_quiet_hours_in_day CHECK (((quiet_hours_start < '24:00:00'::time without time zone) AND (quiet_hours_end < '24:00:00'::time without time zone)))
);
CREATE TRIGGER leave_out_erased BEFORE INSERT ON user_notification_preferences FOR EACH ROW EXECUTE FUNCTION leave_out_erased();
CREATE TRIGGER user_notification_preferences_change AFTER INSERT OR DELETE OR UPDATE ON user_notification_preferences FOR EACH ROW EXECUTE FUNCTION record_preference_change();
CREATE TRIGGER user_notification_preferences_consent BEFORE INSERT OR UPDATE ON user_notification_preferences FOR EACH ROW EXECUTE FUNCTION record_consent();

-- What recipients set for themselves. The directory may be a view, so these columns are separate.
CREATE TABLE user_settings (
    user_type text NOT NULL, -- Of the recipient.
    user_id text NOT NULL, -- Of the recipient.
    timezone text, -- IANA time zone, such as Europe/Rome. It counts in place of recipient.timezone. Null: recipient.timezone counts.
    digest_at time without time zone, -- The recipient gets digests at this time of day, if their routing has a digest_at. Null: at that time.
    CONSTRAINT user_settings_pkey PRIMARY KEY (user_type, user_id),
    CONSTRAINT user_settings_user_type FOREIGN KEY (user_type) REFERENCES user_type(user_type),
    CONSTRAINT user_settings_digest_at CHECK ((digest_at < '24:00:00'::time without time zone))
);
CREATE TRIGGER leave_out_erased BEFORE INSERT ON user_settings FOR EACH ROW EXECUTE FUNCTION leave_out_erased();
CREATE TRIGGER user_settings_change AFTER INSERT OR DELETE OR UPDATE ON user_settings FOR EACH ROW EXECUTE FUNCTION record_preference_change();

-- The types of recipients.
CREATE TABLE user_type (
    user_type text NOT NULL, -- What the other tables call the type: RESTAURANT_USER, PATIENT.
    who text NOT NULL, -- The word for the type in delivery ids, evt-1-staff10-EMAIL, and in the workflow ids of digests. No word may begin with the word of another type.
    audience text NOT NULL, -- The last word of the queues that concern the type: notification.restaurant, notification.websocket.restaurant. Several types may share it. GUEST has no queue of the first kind.
    CONSTRAINT user_type_pkey PRIMARY KEY (user_type),
    CONSTRAINT user_type_who_once UNIQUE (who),
    CONSTRAINT user_type_audience CHECK ((audience ~ '^[a-z][a-z0-9-]{0,29}$'::text)),
    CONSTRAINT user_type_audience_free CHECK ((audience <> ALL (ARRAY['all'::text, 'broadcast'::text, 'dead-letter'::text, 'websocket'::text]))),
    CONSTRAINT user_type_name CHECK ((user_type ~ '^[A-Z][A-Z0-9_]{0,29}$'::text)),
    CONSTRAINT user_type_who CHECK ((who ~ '^[a-z]{1,12}$'::text))
);
CREATE TRIGGER user_type_check AFTER INSERT OR DELETE OR UPDATE ON user_type FOR EACH ROW EXECUTE FUNCTION check_user_type();

-- The rows of notification for ADMIN.
CREATE VIEW admin_notification AS
 SELECT notification.id,
    notification.event_id,
    notification.event_type,
    notification.user_type,
    notification.user_id,
    notification.channel,
    notification.delivery_id,
    notification.title,
    notification.body,
    notification.recipient_address,
    notification.status,
    notification.strategy,
    notification.priority,
    notification.send_after,
    notification.attempt_count,
    notification.last_error,
    notification.provider_message_id,
    notification.digest_id,
    notification.created_at,
    notification.sent_at,
    notification.delivered_at,
    notification.read_at,
    notification.entity_type,
    notification.entity_id,
    notification.correlation_id,
    notification.restarts,
    notification.available_at,
    notification.receipt_failed,
    notification.escalates,
    notification.escalated_from,
    notification.attempt_owner,
    notification.attempt_until,
    notification.attempt_began,
    notification.next_attempt_at,
    notification.operator_time,
    notification.failed_child,
    notification.expires_at,
    notification.collapse_key,
    notification.collapse_seq,
    notification.replaced_by,
    notification.provider,
    notification.url,
    notification.address_hash,
    notification.member_role
   FROM notification
  WHERE (notification.user_type = 'ADMIN'::text);

-- The rows of notification for AGENCY_USER.
CREATE VIEW agency_notification AS
 SELECT notification.id,
    notification.event_id,
    notification.event_type,
    notification.user_type,
    notification.user_id,
    notification.channel,
    notification.delivery_id,
    notification.title,
    notification.body,
    notification.recipient_address,
    notification.status,
    notification.strategy,
    notification.priority,
    notification.send_after,
    notification.attempt_count,
    notification.last_error,
    notification.provider_message_id,
    notification.digest_id,
    notification.created_at,
    notification.sent_at,
    notification.delivered_at,
    notification.read_at,
    notification.entity_type,
    notification.entity_id,
    notification.correlation_id,
    notification.restarts,
    notification.available_at,
    notification.receipt_failed,
    notification.escalates,
    notification.escalated_from,
    notification.attempt_owner,
    notification.attempt_until,
    notification.attempt_began,
    notification.next_attempt_at,
    notification.operator_time,
    notification.failed_child,
    notification.expires_at,
    notification.collapse_key,
    notification.collapse_seq,
    notification.replaced_by,
    notification.provider,
    notification.url,
    notification.address_hash,
    notification.member_role
   FROM notification
  WHERE (notification.user_type = 'AGENCY_USER'::text);

-- The rows of notification for CUSTOMER.
CREATE VIEW customer_notification AS
 SELECT notification.id,
    notification.event_id,
    notification.event_type,
    notification.user_type,
    notification.user_id,
    notification.channel,
    notification.delivery_id,
    notification.title,
    notification.body,
    notification.recipient_address,
    notification.status,
    notification.strategy,
    notification.priority,
    notification.send_after,
    notification.attempt_count,
    notification.last_error,
    notification.provider_message_id,
    notification.digest_id,
    notification.created_at,
    notification.sent_at,
    notification.delivered_at,
    notification.read_at,
    notification.entity_type,
    notification.entity_id,
    notification.correlation_id,
    notification.restarts,
    notification.available_at,
    notification.receipt_failed,
    notification.escalates,
    notification.escalated_from,
    notification.attempt_owner,
    notification.attempt_until,
    notification.attempt_began,
    notification.next_attempt_at,
    notification.operator_time,
    notification.failed_child,
    notification.expires_at,
    notification.collapse_key,
    notification.collapse_seq,
    notification.replaced_by,
    notification.provider,
    notification.url,
    notification.address_hash,
    notification.member_role
   FROM notification
  WHERE (notification.user_type = 'CUSTOMER'::text);

-- The rows of notification for GUEST.
CREATE VIEW guest_notification AS
 SELECT notification.id,
    notification.event_id,
    notification.event_type,
    notification.user_type,
    notification.user_id,
    notification.channel,
    notification.delivery_id,
    notification.title,
    notification.body,
    notification.recipient_address,
    notification.status,
    notification.strategy,
    notification.priority,
    notification.send_after,
    notification.attempt_count,
    notification.last_error,
    notification.provider_message_id,
    notification.digest_id,
    notification.created_at,
    notification.sent_at,
    notification.delivered_at,
    notification.read_at,
    notification.entity_type,
    notification.entity_id,
    notification.correlation_id,
    notification.restarts,
    notification.available_at,
    notification.receipt_failed,
    notification.escalates,
    notification.escalated_from,
    notification.attempt_owner,
    notification.attempt_until,
    notification.attempt_began,
    notification.next_attempt_at,
    notification.operator_time,
    notification.failed_child,
    notification.expires_at,
    notification.collapse_key,
    notification.collapse_seq,
    notification.replaced_by,
    notification.provider,
    notification.url,
    notification.address_hash,
    notification.member_role
   FROM notification
  WHERE (notification.user_type = 'GUEST'::text);

-- notification in the columns of an older design, for the channels that are retried: EMAIL, PUSH and SMS; read-only.
CREATE VIEW notification_channel_send AS
 SELECT notification.id,
    notification.id AS notification_id,
    notification.channel AS channel_type,
    notification.recipient_address,
    notification.sent_at AS sent,
        CASE
            WHEN (notification.status = ANY (ARRAY['SENT'::text, 'DELIVERED'::text])) THEN 'SENT'::text
            WHEN (notification.status = ANY (ARRAY['FAILED'::text, 'CANCELLED'::text])) THEN 'FAILED'::text
            ELSE NULL::text
        END AS status,
    notification.attempt_count,
        CASE
            WHEN (notification.status = 'PENDING'::text) THEN COALESCE(GREATEST(notification.send_after, notification.next_attempt_at), notification.created_at)
            ELSE NULL::timestamp with time zone
        END AS next_retry_at,
    notification.last_error,
    notification.created_at
   FROM notification
  WHERE (notification.channel = ANY (ARRAY['EMAIL'::text, 'PUSH'::text, 'SMS'::text]));

-- notification in the columns of an older design, for what was built on that; read-only.
CREATE VIEW notification_outbox AS
 SELECT notification.id,
    notification.event_id,
    notification.user_id AS recipient_id,
    notification.user_type AS recipient_type,
    notification.channel,
    notification.title,
    notification.body,
    notification.recipient_address,
        CASE notification.status
            WHEN 'SENT'::text THEN 'PUBLISHED'::text
            WHEN 'CANCELLED'::text THEN 'FAILED'::text
            ELSE notification.status
        END AS status,
    notification.created_at,
    notification.sent_at AS published_at,
    notification.delivered_at
   FROM notification;

-- notification without titles, texts and addresses: what a gateway reads and changes of deliveries over other channels.
CREATE VIEW notification_state AS
 SELECT notification.id,
    notification.event_id,
    notification.event_type,
    notification.user_type,
    notification.user_id,
    notification.channel,
    notification.delivery_id,
    notification.digest_id,
    notification.status,
    notification.attempt_count,
    notification.created_at,
    notification.available_at,
    notification.sent_at,
    notification.delivered_at,
    notification.read_at,
    notification.provider_message_id,
    notification.receipt_failed,
    notification.escalates,
    notification.last_error
   FROM notification;

-- The rows of notification for RESTAURANT_USER.
CREATE VIEW restaurant_notification AS
 SELECT notification.id,
    notification.event_id,
    notification.event_type,
    notification.user_type,
    notification.user_id,
    notification.channel,
    notification.delivery_id,
    notification.title,
    notification.body,
    notification.recipient_address,
    notification.status,
    notification.strategy,
    notification.priority,
    notification.send_after,
    notification.attempt_count,
    notification.last_error,
    notification.provider_message_id,
    notification.digest_id,
    notification.created_at,
    notification.sent_at,
    notification.delivered_at,
    notification.read_at,
    notification.entity_type,
    notification.entity_id,
    notification.correlation_id,
    notification.restarts,
    notification.available_at,
    notification.receipt_failed,
    notification.escalates,
    notification.escalated_from,
    notification.attempt_owner,
    notification.attempt_until,
    notification.attempt_began,
    notification.next_attempt_at,
    notification.operator_time,
    notification.failed_child,
    notification.expires_at,
    notification.collapse_key,
    notification.collapse_seq,
    notification.replaced_by,
    notification.provider,
    notification.url,
    notification.address_hash,
    notification.member_role
   FROM notification
  WHERE (notification.user_type = 'RESTAURANT_USER'::text);

CREATE OR REPLACE FUNCTION check_user_type()
 RETURNS trigger
 LANGUAGE plpgsql
 SET search_path TO 'public'
AS $function$
DECLARE
    other user_type;
BEGIN
    IF TG_OP <> 'INSERT' AND (TG_OP = 'DELETE' OR NEW IS DISTINCT FROM OLD)
        AND EXISTS (SELECT FROM notification WHERE user_type = OLD.user_type) THEN
        RAISE EXCEPTION 'user type % is in use: there are notifications to people of this type, whose ids hold the word %', OLD.user_type, OLD.who
            USING ERRCODE = 'restrict_violation', HINT = 'Add another user type instead.';
    END IF;
    IF TG_OP = 'DELETE' THEN
        RETURN NULL;
    END IF;
    PERFORM pg_advisory_xact_lock(hashtext('herald'), hashtext(TG_TABLE_SCHEMA || '.user_type'));
    SELECT * INTO other
    FROM   user_type u
    WHERE  u.user_type <> NEW.user_type
    AND    (starts_with(u.who, NEW.who) OR starts_with(NEW.who, u.who));
    IF FOUND THEN
        RAISE EXCEPTION 'who % is too like % of user type %: one begins with the other, so that ids could not be told apart', NEW.who, other.who, other.user_type
            USING ERRCODE = 'check_violation', HINT = 'Choose a word that differs earlier.';
    END IF;
    RETURN NULL;
END;
$function$;

CREATE OR REPLACE FUNCTION event_outbox_expiry()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
    NEW.expires_at := CASE WHEN NEW.expires_at < 'infinity' THEN timestamptz '1970-01-01 00:00Z' END;
    RETURN NEW;
END;
$function$;

CREATE OR REPLACE FUNCTION event_type_escalation_no_circle()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended('event_type_escalation ' || NEW.event_type, 0));
    IF EXISTS (
        WITH RECURSIVE chain AS (
            SELECT NEW.to_channel AS channel
            UNION
            SELECT e.to_channel
            FROM   event_type_escalation e
            JOIN   chain c ON c.channel = e.from_channel
            WHERE  e.event_type = NEW.event_type
            AND    e.from_channel <> NEW.from_channel
        )
        SELECT FROM chain WHERE channel = NEW.from_channel
    ) THEN
        RAISE EXCEPTION 'the escalation of % from % to % closes a circle', NEW.event_type, NEW.from_channel, NEW.to_channel
            USING ERRCODE = 'check_violation', CONSTRAINT = 'event_type_escalation_no_circle', TABLE = 'event_type_escalation';
    END IF;
    RETURN NEW;
END;
$function$;

CREATE OR REPLACE FUNCTION herald_emit(event_type text, aggregate_type text, aggregate_id text, payload jsonb, event_id text DEFAULT NULL::text, correlation_id text DEFAULT NULL::text, cancels text DEFAULT NULL::text, cancels_types text[] DEFAULT NULL::text[], expires_at timestamp with time zone DEFAULT NULL::timestamp with time zone, collapse_key text DEFAULT NULL::text, traceparent text DEFAULT NULL::text, actor_type text DEFAULT NULL::text, actor_id text DEFAULT NULL::text, exclude text[] DEFAULT NULL::text[])
 RETURNS text
 LANGUAGE plpgsql
 SET search_path TO 'public', 'pg_temp'
AS $function$
#variable_conflict use_column
DECLARE
    id text := coalesce(herald_emit.event_id, 'evt-' || gen_random_uuid());
BEGIN
    IF herald_emit.cancels IS NULL AND herald_emit.cancels_types IS NULL THEN
        INSERT INTO event_outbox (event_id, event_type, aggregate_type, aggregate_id, payload, correlation_id, expires_at, collapse_key, traceparent,
                                  actor_type, actor_id, exclude)
        VALUES (id, herald_emit.event_type, herald_emit.aggregate_type, herald_emit.aggregate_id, herald_emit.payload, herald_emit.correlation_id,
                herald_emit.expires_at, herald_emit.collapse_key, herald_emit.traceparent, herald_emit.actor_type, herald_emit.actor_id,
                herald_emit.exclude);
    ELSE
        INSERT INTO event_outbox (event_id, event_type, aggregate_type, aggregate_id, payload, correlation_id, expires_at, collapse_key, traceparent,
                                  actor_type, actor_id, exclude, cancels, cancels_types)
        VALUES (id, herald_emit.event_type, herald_emit.aggregate_type, herald_emit.aggregate_id, herald_emit.payload, herald_emit.correlation_id,
                herald_emit.expires_at, herald_emit.collapse_key, herald_emit.traceparent, herald_emit.actor_type, herald_emit.actor_id,
                herald_emit.exclude, herald_emit.cancels, herald_emit.cancels_types);
    END IF;
    RETURN id;
END
$function$;

CREATE OR REPLACE FUNCTION herald_has_address(of_type text, of_id text, over_channel text, salt bytea, digest bytea)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
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
$function$;

CREATE OR REPLACE FUNCTION leave_out_erased()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
BEGIN
    IF EXISTS (SELECT FROM erased_recipient e WHERE (e.user_type, e.user_id) = (NEW.user_type::text, NEW.user_id::text)) THEN
        RETURN NULL;
    END IF;
    RETURN NEW;
END
$function$;

CREATE OR REPLACE FUNCTION long_id_hash(id text)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE
AS $function$ SELECT encode(sha256(convert_to(id, 'UTF8')), 'hex') $function$;

CREATE OR REPLACE FUNCTION notify_event_outbox()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
    IF pg_try_advisory_xact_lock(hashtext('herald'), hashtext(TG_TABLE_SCHEMA || '.event_outbox')) THEN
        PERFORM pg_notify('event_outbox', '');
    END IF;
    RETURN NULL;
END;
$function$;

CREATE OR REPLACE FUNCTION record_consent()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
    IF TG_OP = 'INSERT' OR NEW.enabled IS DISTINCT FROM OLD.enabled THEN
        NEW.changed_at := now();
        NEW.changed_by := coalesce(nullif(current_setting('herald.changed_by', true), ''), session_user);
    END IF;
    RETURN NEW;
END;
$function$;

CREATE OR REPLACE FUNCTION record_preference_change()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
BEGIN
    INSERT INTO preference_change (user_type, user_id, channel, category, entity_type, entity_id, setting, old_value, new_value)
    SELECT p.r ->> 'user_type', p.r ->> 'user_id', p.r ->> 'channel_type', p.r ->> 'category', p.r ->> 'entity_type', p.r ->> 'entity_id', s.setting,
           coalesce(max(s.value) FILTER (WHERE NOT p.is_new), s.default_value), coalesce(max(s.value) FILTER (WHERE p.is_new), s.default_value)
    FROM   (VALUES (false, to_jsonb(OLD)), (true, to_jsonb(NEW))) AS p (is_new, r)
    CROSS JOIN LATERAL (
        VALUES ('ENABLED', p.r ->> 'enabled', 'true'),
               ('PRIORITY', p.r ->> 'priority', 'NORMAL'),
               ('QUIET_HOURS', CASE WHEN (p.r ->> 'quiet_hours_enabled')::boolean AND p.r ->> 'quiet_hours_start' <> p.r ->> 'quiet_hours_end'
                                    THEN regexp_replace((p.r ->> 'quiet_hours_start') || '–' || (p.r ->> 'quiet_hours_end'), ':00(?=–|$)', '', 'g') END, NULL),
               ('TIMEZONE', p.r ->> 'timezone', NULL),
               ('DIGEST_AT', regexp_replace(p.r ->> 'digest_at', ':00$', ''), NULL),
               ('FOLLOW', p.r ->> 'level', NULL),
               ('MUTE', CASE TG_TABLE_NAME WHEN 'entity_mute' THEN 'true' END, 'false')
    ) AS s (setting, value, default_value)
    WHERE  p.r IS NOT NULL
    GROUP BY 1, 2, 3, 4, 5, 6, 7, s.default_value
    HAVING coalesce(max(s.value) FILTER (WHERE NOT p.is_new), s.default_value) IS DISTINCT FROM coalesce(max(s.value) FILTER (WHERE p.is_new), s.default_value);
    RETURN NULL;
END
$function$;

CREATE OR REPLACE FUNCTION refuse_change_of_view()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
    RAISE EXCEPTION 'view % is read-only', TG_TABLE_NAME
        USING ERRCODE = 'feature_not_supported', HINT = 'Herald alone writes the table notification.';
END;
$function$;

CREATE OR REPLACE FUNCTION replace_shipped_template()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
    IF TG_OP = 'UPDATE' THEN
        NEW.shipped := false;
    ELSE
        DELETE FROM notification_template t
        WHERE  (t.event_type, t.channel, t.locale) = (NEW.event_type, NEW.channel, NEW.locale)
        AND    t.shipped;
    END IF;
    RETURN NEW;
END;
$function$;

CREATE OR REPLACE FUNCTION write_decision_lifecycle()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
BEGIN
    INSERT INTO lifecycle_event (event_type, correlation_id, payload)
    SELECT 'delivery.suppressed', o.correlation_id,
           json_build_object('type', 'delivery.suppressed', 'timestamp', now(), 'data', json_strip_nulls(json_build_object(
               'event_id', NEW.event_id, 'event_type', o.event_type, 'correlation_id', o.correlation_id,
               'user_type', NEW.user_type, 'user_id', NEW.user_id, 'channel', c.key, 'reason', c.value)))
    FROM   jsonb_each_text(NEW.channels) AS c
    LEFT JOIN event_outbox o ON o.event_id = NEW.event_id
    WHERE  c.value = 'SUPPRESSED'
    AND    OLD.channels ->> c.key IS DISTINCT FROM c.value;
    RETURN NULL;
END
$function$;

CREATE OR REPLACE FUNCTION write_delivery_lifecycle()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
BEGIN
    INSERT INTO lifecycle_event (event_type, correlation_id, payload)
    SELECT t.type, NEW.correlation_id,
           json_build_object('type', t.type, 'timestamp', now(), 'data', json_strip_nulls(json_build_object(
               'event_id', NEW.event_id, 'event_type', NEW.event_type, 'correlation_id', NEW.correlation_id,
               'delivery_id', NEW.delivery_id, 'user_type', NEW.user_type, 'user_id', NEW.user_id, 'channel', NEW.channel,
               'status', NEW.status, 'reason', CASE WHEN NEW.status IN ('FAILED', 'CANCELLED') THEN NEW.last_error END,
               'provider', NEW.provider, 'attempts', NEW.attempt_count,
               'sent_at', NEW.sent_at, 'delivered_at', NEW.delivered_at, 'read_at', NEW.read_at)))
    FROM   unnest(ARRAY [
               CASE WHEN (NEW.status, NEW.delivery_id) IS NOT DISTINCT FROM (OLD.status, OLD.delivery_id) THEN NULL
                    WHEN NEW.delivery_id LIKE '%~' THEN NULL -- the next statement completes the id
                    WHEN NEW.status = 'PENDING' THEN 'delivery.planned'
                    WHEN NEW.status = 'CANCELLED' AND NEW.last_error = 'SUPPRESSED' THEN 'delivery.suppressed'
                    ELSE 'delivery.' || lower(NEW.status) END,
               CASE WHEN NEW.read_at IS NOT NULL AND OLD.read_at IS NULL THEN 'delivery.read' END]) WITH ORDINALITY AS t (type, n)
    WHERE  t.type IS NOT NULL
    ORDER BY t.n;
    RETURN NULL;
END
$function$;

CREATE OR REPLACE FUNCTION write_event_lifecycle()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
BEGIN
    INSERT INTO lifecycle_event (event_type, correlation_id, payload)
    SELECT 'event.finished', o.correlation_id,
           json_build_object('type', 'event.finished', 'timestamp', now(), 'data', json_strip_nulls(json_build_object(
               'event_id', NEW.event_id, 'event_type', o.event_type, 'correlation_id', o.correlation_id,
               'status', NEW.status, 'outcome', NEW.outcome)))
    FROM  (VALUES (NEW.event_id)) AS e (event_id)
    LEFT JOIN event_outbox o USING (event_id)
    WHERE  NEW.status IS DISTINCT FROM OLD.status;
    RETURN NULL;
END
$function$;

CREATE OR REPLACE FUNCTION write_operator_lifecycle()
 RETURNS trigger
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'public', 'pg_temp'
AS $function$
BEGIN
    INSERT INTO lifecycle_event (event_type, payload)
    VALUES ('operator.acted', json_build_object('type', 'operator.acted', 'timestamp', now(), 'data', json_build_object(
               'id', NEW.id, 'at', NEW.at, 'actor', NEW.actor, 'command', NEW.command, 'target', NEW.target)));
    RETURN NULL;
END
$function$;

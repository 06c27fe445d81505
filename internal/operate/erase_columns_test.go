package operate

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"herald/internal/db/postgrestest"
)

// The classes of columns. docs/privacy.md gives the reasons of kept columns.
type columnClasses struct {
	erased string // personal: emptied, or deleted with its row
	kept   string // personal, and stays
	plain  string // not personal
}

// columnsByTable classifies each column of each table. Before you add a column here, decide whether
// it can hold data about a person. If so, `starter recipient erase` and `export` must cover it.
var columnsByTable = map[string]columnClasses{
	// Rows about one person.
	"counted_message":           {erased: "message_id user_type user_id channel_type category at waits place"},
	"entity_follow":             {erased: "entity_type entity_id user_type user_id level created_at"},
	"entity_member":             {erased: "entity_type entity_id user_type user_id role active"},
	"entity_mute":               {erased: "entity_type entity_id user_type user_id created_at"},
	"gateway_ticket":            {erased: "ticket_hash user_type user_id token_expires_at expires_at"},
	"preference_change":         {erased: "id at user_type user_id setting channel category entity_type entity_id old_value new_value changed_by"},
	"recipient":                 {erased: "user_type user_id name email phone slack_webhook_url locale timezone active webhook_url"},
	"recipient_device":          {erased: "user_type user_id token active registered_at"},
	"throttle":                  {erased: "user_type user_id event_type channel_type throttle_key delivery_id began_at ends_at"},
	"user_category_preferences": {erased: "user_type user_id category channel_type enabled changed_at changed_by"},
	"user_notification_preferences": {erased: "user_type user_id channel_type enabled quiet_hours_enabled quiet_hours_start quiet_hours_end " +
		"priority changed_at changed_by"},
	"user_settings": {erased: "user_type user_id timezone digest_at"},

	// The record of deliveries: ids and times stay. So do the provider's id of a message, by which
	// a late receipt finds it, and keys and ids of producers.
	"delivery_attempt":   {erased: "detail", kept: "delivery_id", plain: "sender attempt started_at ended_at outcome provider_status took"},
	"delivery_follow_up": {kept: "delivery_id", plain: "id kind since"},
	"delivery_receipt":   {erased: "detail", kept: "receipt_id delivery_id message_id", plain: "provider at received_at status outcome harm"},
	"delivery_retry":     {erased: "error_before", kept: "delivery_id message_id_before", plain: "run_id retried_at again status_before attempts_before"},
	"erased_recipient":   {kept: "user_type user_id erased_at"},
	"event_outbox": {erased: "payload", kept: "event_id aggregate_type aggregate_id correlation_id traceparent cancels collapse_key actor_type " +
		"actor_id exclude",
		plain: "seq event_type status cancels_types created_at published_at attempt_count error_message lease_owner lease_until source " +
			"acknowledged_at produced_at withdrawn_at expires_at"},
	"lifecycle_event":  {kept: "payload correlation_id", plain: "id event_type created_at sent"},
	"merged_recipient": {erased: "to_user_type to_user_id merged_at", kept: "user_type user_id"},
	"notification": {erased: "title body url recipient_address address_hash last_error",
		kept: "user_type user_id delivery_id digest_id event_id correlation_id entity_type entity_id escalated_from collapse_key replaced_by " +
			"provider_message_id read_at",
		plain: "id event_type channel status strategy priority send_after attempt_count created_at sent_at delivered_at restarts available_at " +
			"receipt_failed escalates attempt_owner attempt_until attempt_began next_attempt_at operator_time failed_child expires_at " +
			"collapse_seq provider member_role"},
	"notification_decision": {kept: "event_id user_type user_id channels throttled_by", plain: "decided_at"},
	"processed_event":       {kept: "event_id", plain: "status created_at updated_at outcome restarts problem"},
	"recipient_suppression": {kept: "address_hash detail", plain: "channel reason since secret twin"},
	"source_row": {kept: "row_key event_id key_hash",
		plain: "source refusals next_attempt_at error people_error sent_at failed_at marked_at"},

	// The audit.
	"applied_rule":    {kept: "actor reason", plain: "table_name key event_type content before applied_at commit_id"},
	"event_approval":  {kept: "event_id answered_by reason", plain: "asked_at answer answered_at"},
	"operator_action": {kept: "actor target detail db_user", plain: "id at command form"},
	"provider_state":  {kept: "override_by override_reason", plain: "provider rests rests_until failure override changed_at"},
	"sender_state": {kept: "resumed_by resume_reason", plain: "channel provider sender recipients complaints bounces blocks counted_at paused_at " +
		"resumed_at"},

	// Rules, settings and the engine.
	"channel":           {plain: "channel_type confirms"},
	"channel_turn":      {plain: "channel next_at"},
	"channel_user_type": {plain: "channel_type user_type"},
	"delivery_count":    {plain: "since channel status count"},
	"entity_notification_settings": {plain: "entity_type entity_id channel_type event_type enabled max_recipients allowed_roles " +
		"quiet_hours_start quiet_hours_end quiet_hours_timezone"},
	"entity_name":         {plain: "entity_type entity_id name"},
	"event_category":      {plain: "event_type category"},
	"event_type_approval": {plain: "event_type over"},
	"event_type_channel_routing": {plain: "event_type channel_type mandatory delivery_strategy delay digest_window quiet_hours_action " +
		"priority push_kind send_at_path send_before skip_if_past on_escalation_only roles expires_after throttle_window throttle_key_path " +
		"digest_first digest_at digest_days once_per_address tell_actor"},
	"event_type_schema":     {plain: "event_type payload_schema"},
	"event_type_escalation": {plain: "event_type from_channel to_channel after until if_unreachable confirms"},
	"event_type_recipients": {plain: "id event_type user_type entity_type entity_id_path roles"},
	"frequency_cap":         {plain: "channel_type category at_most per spacing action"},
	"sender_count":          {kept: "recipients", plain: "channel provider sender since kind"},
	"herald_migrations":     {plain: "id version_id is_applied tstamp"},
	"herald_secret":         {plain: "fingerprint since superseded_at rekeyed_at"},
	"notification_template": {plain: "event_type channel locale title body channel_type shipped url layout"},
	"notification_layout":   {plain: "name locale body"},
	"source_position":       {plain: "source slots owner position"},
	"source_start":          {plain: "source seq"},
	"source_topic":          {plain: "source topic resting_since next_attempt_at error"},
	"poller":                {plain: "source number paused_since"},
	"sweep": {plain: "id at looked started_again closed failed ambiguous after_event after_notification after_waiting_event " +
		"receipts_to"},
	"user_type": {plain: "user_type who audience"},
}

// Each column has one class, so nobody adds a column without a decision about privacy.
func TestEachColumnHasAClass(t *testing.T) {
	t.Parallel()

	var classified []string
	for table, classes := range columnsByTable {
		for _, column := range strings.Fields(classes.erased + " " + classes.kept + " " + classes.plain) {
			classified = append(classified, table+"."+column)
		}
	}
	slices.Sort(classified)
	columns := postgrestest.List(t, postgrestest.New(t), `
		SELECT c.relname || '.' || a.attname
		FROM   pg_class c
		JOIN   pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
		WHERE  c.relnamespace = current_schema()::regnamespace
		AND    c.relkind IN ('r', 'p')`)
	slices.Sort(columns)
	require.Equal(t, columns, classified, "decide on the class of each new column")
}

package dialects

// lifecycle is the outbox for status changes of Herald's deliveries, and for what operators do. Migrations create the table and the
// functions. Nothing writes to the table before its triggers exist, and nothing reads it by correlation id.
var lifecycle = forLifecycle(walletHub,
	neededTrigger{"notification", "INSERT OR UPDATE OF status, read_at, delivery_id", "", "write_delivery_lifecycle"},
	neededTrigger{
		"notification_decision", "INSERT OR UPDATE OF channels", `NEW.channels @? '$.* ? (@ == "SUPPRESSED")'`, "write_decision_lifecycle",
	},
	neededTrigger{"processed_event", "INSERT OR UPDATE OF status", "NEW.status <> 'PROCESSING'", "write_event_lifecycle"},
	neededTrigger{"operator_action", "INSERT", "", "write_operator_lifecycle"},
)

// lifecycleTrigger is the name of the trigger on each table.
const lifecycleTrigger = "lifecycle"

// neededTrigger is a trigger on one of Herald's tables.
type neededTrigger struct {
	table    string
	after    string // INSERT, UPDATE
	when     string // condition for a row; empty: each row
	function string
}

// do returns the end of the statement that creates the trigger.
func (t neededTrigger) do() string {
	call := "EXECUTE FUNCTION " + t.function + "()"
	if t.when == "" {
		return call
	}
	return "WHEN (" + t.when + ") " + call
}

func forLifecycle(d dialect, triggers ...neededTrigger) dialect {
	d.indexes, d.triggers = d.indexes[:1], triggers // the first index has the pending rows
	return d
}

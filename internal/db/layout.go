package db

// LayoutFacts are the columns of a [notification.Template] about the layout of a row t of
// notification_template, in texts about an event type. A row without a layout has none of them. A row for
// every channel has its layout over EMAIL.
func LayoutFacts(eventType string) string {
	const isFor = `lower(replace(t.locale, '_', '-')) || '-' LIKE lower(replace(l.locale, '_', '-')) || '-%'`

	return `coalesce(t.layout, '') AS layout,
		       coalesce((
		           SELECT l.body
		           FROM   notification_layout l
		           WHERE  l.name = t.layout
		           AND    (` + isFor + ` OR lower(l.locale) = 'en')
		           ORDER BY ` + isFor + ` DESC, length(l.locale) DESC
		           LIMIT  1), '') AS layout_body,
		       coalesce((
		           SELECT g.category
		           FROM   event_category g
		           WHERE  g.event_type = ` + eventType + `
		           AND    t.layout IS NOT NULL), '') AS category,
		       EXISTS (
		           SELECT FROM event_type_channel_routing o
		           WHERE  o.event_type = ` + eventType + `
		           AND    o.channel_type = replace(t.channel, '*', 'EMAIL')
		           AND    NOT o.mandatory
		           AND    t.layout IS NOT NULL) AS optional`
}

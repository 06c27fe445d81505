-- Room for a lease of every row of a page. A lease changes no index, so it is a HOT update if the page has room. Batches lease all rows
-- of a page at once.
-- +goose Up
ALTER TABLE notification SET (fillfactor = 45);

-- +goose Down
ALTER TABLE notification SET (fillfactor = 80);

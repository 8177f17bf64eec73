-- name: usage
SELECT seq, at, id, model, input_tokens, output_tokens, cached_tokens, usd_micros, source FROM usage WHERE id = ?1;
-- name: usage_since
SELECT seq, at, id, model, input_tokens, output_tokens, cached_tokens, usd_micros, source FROM usage WHERE seq > ?1 ORDER BY seq;
-- name: insert_usage
INSERT INTO usage (seq, at, id, model, input_tokens, output_tokens, cached_tokens, source, usd_micros)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9);
-- name: events_since
SELECT seq, at, event, details FROM events WHERE seq > ?1 ORDER BY seq;
-- name: insert_event
INSERT INTO events (seq, at, event, details) VALUES (?1, ?2, ?3, ?4);
-- name: question
SELECT key, text, choices, answer, asked_at, answered_at FROM questions WHERE key = ?1;
-- name: questions
SELECT key, text, choices, answer, asked_at, answered_at FROM questions ORDER BY rowid;
-- name: insert_question
INSERT INTO questions (key, text, choices, asked_at, answered_at) VALUES (?1, ?2, ?3, ?4, '');
-- name: ask_again
UPDATE questions SET text = ?2, answer = NULL, asked_at = ?3, answered_at = '' WHERE key = ?1;
-- name: answer_question
UPDATE questions SET answer = ?2, answered_at = ?3 WHERE key = ?1;
-- name: resumed_since
-- The event is among the first of its session, so the search is short.
SELECT 1 FROM events WHERE seq > ?1 AND event = 'resumed' LIMIT 1;
-- name: session
SELECT number FROM sessions WHERE session = ?1;
-- name: insert_session
INSERT INTO sessions (session, number) VALUES (?1, ?2);

-- How far an agent that numbers what it says has been heard, and who it is. JSON, like the summary.
ALTER TABLE session ADD COLUMN agent TEXT;

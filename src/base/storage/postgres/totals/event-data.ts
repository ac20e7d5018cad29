/** Reads values from the payload of an event. `row` is a prefix such as `event.`. */

export const isMachine = (row: string): string => `coalesce(${row}data::json ->> 'machine', 'false') in ('true', '1')`

export const urlOf = (row: string): string => `(${row}data::json ->> 'url')`

export const clickedAt = (row: string): string =>
  `round(extract(epoch from (${row}data::json ->> 'clicked_at')::timestamptz) * 1000)::bigint`

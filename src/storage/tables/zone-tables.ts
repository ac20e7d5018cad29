/** The shape of the table of the service zone. Part of `tables.ts`, which says what holds for all of them. */

/** One row. */
export interface ZoneSerialTable {
  id: number
  serial: number
}

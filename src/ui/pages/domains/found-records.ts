/** Reads from the details of a refusal which records a check found in DNS. */

export interface FoundRecord {
  readonly name: string
  /** Null means that there is no such record, or that DNS did not answer. */
  readonly found: string | null
}

export function readFoundRecords(details: Readonly<Record<string, unknown>>): readonly FoundRecord[] {
  const { records } = details
  return Array.isArray(records) ? records.flatMap(readFoundRecord) : []
}

function readFoundRecord(record: unknown): readonly FoundRecord[] {
  if (typeof record !== 'object' || record === null || !('name' in record) || !('found' in record)) return []
  const { name, found } = record
  return typeof name === 'string' ? [{ name, found: typeof found === 'string' ? found : null }] : []
}

/** The simplest rows, for tests of the storage itself. */
import type { Read } from '../../../src/base/storage/db/prepared.js'
import type { Write } from '../../../src/base/storage/db/write.js'

export function stateWrite(key: string, value: string, rows?: number): Write {
  const write = { sql: 'insert into service_state (key, value) values (?, ?)', parameters: [key, value] }
  return rows === undefined ? write : { ...write, rows }
}

export async function stateKeys(read: Read): Promise<string[]> {
  return (await read<{ key: string }>('select key from service_state order by key', [])).map(({ key }) => key)
}

/** Finds what DNS has now in the place of a record, in what the daemon has looked up. */
import type { components } from '../../api/session-schema.d.ts'

export type ObservedDns = components['schemas']['ObservedDns']
export type ObservedRecord = ObservedDns['records'][number]

/** Null if it was not looked up yet. */
export function findObserved(
  dns: ObservedDns | undefined,
  { type, name }: { readonly type: string; readonly name: string },
): ObservedRecord | null {
  return dns?.records.find((record) => record.type === type && record.name === name) ?? null
}

/** Audiences, and the list of all for a field in which the user chooses one. */
import { api, unwrap } from '../../api/client.ts'
import { loadAll } from '../../api/load-all.ts'
import type { components } from '../../api/schema.d.ts'

export type Audience = components['schemas']['Audience']
export type Contact = components['schemas']['Contact']

/** All audiences, newest first. */
export function loadAllAudiences(): Promise<readonly Audience[]> {
  return loadAll((query) => unwrap(api.GET('/v1/audiences', { params: { query } })))
}

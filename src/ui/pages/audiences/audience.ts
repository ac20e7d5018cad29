/** Audiences, and the list of all for a field in which the user chooses one. */
import { api, unwrap } from '../../api/client.ts'
import { loadAll } from '../../api/load-all.ts'
import type { components } from '../../api/schema.d.ts'
import type { components as session } from '../../api/session-schema.d.ts'

export type Audience = components['schemas']['Audience']
export type Contact = components['schemas']['Contact']
export type ListedContact = session['schemas']['ListedContact']

/** All audiences, newest first. */
export function loadAllAudiences(): Promise<readonly Audience[]> {
  return loadAll((query) => unwrap(api.GET('/v1/audiences', { params: { query } })))
}

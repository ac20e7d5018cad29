/** Audiences, and the list of all for fields in which one is chosen. */
import { api, unwrap } from '../../api/client.ts'
import type { components } from '../../api/schema.d.ts'

export type Audience = components['schemas']['Audience']
export type Contact = components['schemas']['Contact']

/** The most that an answer has. */
const PAGE_SIZE = 100
/** More cannot be chosen from in a field. */
const MAX_AUDIENCES = 1_000

/** Newest first. */
export async function loadAllAudiences(): Promise<readonly Audience[]> {
  const all: Audience[] = []
  while (all.length < MAX_AUDIENCES) {
    const { data } = await unwrap(
      api.GET('/v1/audiences', { params: { query: { limit: PAGE_SIZE, offset: all.length } } }),
    )
    all.push(...data)
    if (data.length < PAGE_SIZE) break
  }
  return all
}

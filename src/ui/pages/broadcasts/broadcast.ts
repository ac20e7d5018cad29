/** A broadcast, its audience, and what the editor of a draft chooses from. */
import { api, sessionApi, unwrap } from '../../api/client.ts'
import type { components } from '../../api/schema.d.ts'
import { type Audience, loadAllAudiences } from '../audiences/audience.ts'

export type Broadcast = components['schemas']['Broadcast']
export type ListedBroadcast = components['schemas']['ListedBroadcast']

interface Choice {
  readonly id: string
  readonly name: string
}

export interface DraftChoices {
  readonly audiences: readonly Audience[]
  readonly templates: readonly Choice[]
  /** Verified ones. */
  readonly domains: readonly string[]
}

/** The most that an answer has, and the most that can be chosen from. */
const PAGE_SIZE = 100
const MAX_CHOICES = 1_000

export async function loadChoices(): Promise<DraftChoices> {
  const [audiences, templates, domains] = await Promise.all([
    loadAllAudiences(),
    loadAll(async (offset) => {
      const params = { query: { limit: PAGE_SIZE, offset } }
      return (await unwrap(sessionApi.GET('/ui/api/templates', { params }))).data
    }),
    loadAll(async (offset) => {
      const params = { query: { limit: PAGE_SIZE, offset } }
      return (await unwrap(api.GET('/v1/domains', { params }))).data
    }),
  ])
  const verified = domains.filter(({ status }) => status === 'verified')
  return { audiences, templates, domains: verified.map(({ domain }) => domain) }
}

async function loadAll<Row>(load: (offset: number) => Promise<readonly Row[]>): Promise<readonly Row[]> {
  const rows: Row[] = []
  while (rows.length < MAX_CHOICES) {
    const page = await load(rows.length)
    rows.push(...page)
    if (page.length < PAGE_SIZE) break
  }
  return rows
}

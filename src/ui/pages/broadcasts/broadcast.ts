/** A broadcast, its audience, and the choices of the editor of a draft. */
import { api, sessionApi, unwrap } from '../../api/client.ts'
import { loadAll } from '../../api/load-all.ts'
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
  /** The verified domains. */
  readonly domains: readonly string[]
}

export async function loadChoices(): Promise<DraftChoices> {
  const [audiences, templates, domains] = await Promise.all([
    loadAllAudiences(),
    loadAll((query) => unwrap(sessionApi.GET('/ui/api/templates', { params: { query } }))),
    loadAll((query) => unwrap(api.GET('/v1/domains', { params: { query } }))),
  ])
  const verified = domains.filter(({ status }) => status === 'verified')
  return { audiences, templates, domains: verified.map(({ domain }) => domain) }
}

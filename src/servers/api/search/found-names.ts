/** Finds what has a name: broadcasts, audiences and templates, and API keys and webhooks for those who may see them. */
import type { FoundNames, NameQuery } from '../../../base/storage/db/name-search.js'
import type { Read } from '../../../base/storage/db/prepared.js'
import { searchBroadcasts } from '../../../outbound/broadcasts/broadcast-search.js'
import { type Area, permissionFor } from '../../../workspaces/accounts/access/permissions.js'
import type { Principal } from '../../../workspaces/accounts/access/principal.js'
import { searchKeys } from '../../../workspaces/accounts/keys/key-search.js'
import { searchAudiences } from '../../../workspaces/audiences/audience-search.js'
import { searchTemplates } from '../../../workspaces/content/template-search.js'
import { searchWebhooks } from '../../../workspaces/webhooks/webhook-search.js'

interface NamedKind {
  readonly kind: 'broadcasts' | 'audiences' | 'templates' | 'keys' | 'webhooks'
  readonly words: string
  readonly find: (read: Read, query: NameQuery) => Promise<FoundNames>
  /** The area of the routes that list this kind. */
  readonly area: Area
}

const namedKinds: readonly NamedKind[] = [
  { kind: 'broadcasts', words: 'broadcasts', find: searchBroadcasts, area: 'read' },
  { kind: 'audiences', words: 'audiences', find: searchAudiences, area: 'read' },
  { kind: 'templates', words: 'templates', find: searchTemplates, area: 'read' },
  { kind: 'keys', words: 'API keys', find: searchKeys, area: 'admin-read' },
  { kind: 'webhooks', words: 'webhooks', find: searchWebhooks, area: 'admin-read' },
]

/** Returns the kinds with a name that a principal may read. */
export function namedKindsFor(principal: Pick<Principal, 'role' | 'scopes'>): readonly NamedKind[] {
  return namedKinds.filter(({ area }) => permissionFor(principal, area) === 'yes')
}

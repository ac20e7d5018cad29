// The requests that are timed one by one: filters with common and rare values, searches, lists for the operator.
import SQLite from 'better-sqlite3'
import { AUDIENCES, BROADCAST, DAY, DOMAINS, WEBHOOK } from '../lib/store/values.mjs'

const iso = (at) => new Date(at).toISOString()

/** `end`: the time of the newest email. */
export function listRequests(end) {
  const emails = (filters) => `/emails?${new URLSearchParams(filters)}`
  const hours = { from: iso(end - 40 * DAY), to: iso(end - 40 * DAY + 3_600_000) }
  const contacts = (filters) => `/contacts?${new URLSearchParams(filters)}`
  const suppressions = (filters) => `/suppressions?${new URLSearchParams(filters)}`
  const queue = (filters) => `/operator/queue/entries?${new URLSearchParams(filters)}`
  return {
    'emails: all': emails({}),
    'emails: delivered': emails({ status: 'delivered' }),
    'emails: complained (rare)': emails({ status: 'complained' }),
    'emails: cancelled (none)': emails({ status: 'cancelled' }),
    'emails: common domain': emails({ domain: DOMAINS[0] }),
    'emails: rare domain': emails({ domain: DOMAINS[4] }),
    'emails: common tag': emails({ tag_name: 'campaign', tag_value: 'spring' }),
    'emails: rare tag': emails({ tag_name: 'campaign', tag_value: 'rare' }),
    'emails: absent tag': emails({ tag_name: 'absent' }),
    'emails: common recipient': emails({ recipient: 'ada' }),
    'emails: one recipient': emails({ recipient: 'ada40@example40.test' }),
    'emails: absent recipient': emails({ recipient: 'nobody@absent.test' }),
    'emails: common subject': emails({ subject: 'receipt' }),
    'emails: rare subject': emails({ subject: 'rare' }),
    'emails: absent subject': emails({ subject: 'absent' }),
    'emails: bounced, absent subject': emails({ status: 'bounced', subject: 'absent' }),
    'emails: one hour': emails(hours),
    'emails: one hour, absent recipient': emails({ ...hours, recipient: 'absent' }),
    'emails: all filters': emails({
      ...hours,
      status: 'bounced',
      domain: DOMAINS[0],
      subject: 'order',
      recipient: 'bob',
    }),
    'emails: of a broadcast': emails({ broadcast_id: BROADCAST }),
    'emails: of a broadcast, one recipient': emails({ broadcast_id: BROADCAST, recipient: 'grace.7@' }),
    'v1 emails': '/v1/emails?limit=50',
    'v1 emails, offset 900000': '/v1/emails?limit=50&offset=900000',
    'contacts: all': contacts({}),
    'contacts: common': contacts({ search: 'ada' }),
    'contacts: one': contacts({ search: 'ada.40@' }),
    'contacts: absent': contacts({ search: 'nobody@' }),
    'contacts: of an audience': contacts({ audience_id: AUDIENCES[0], search: 'grace' }),
    'contacts: of a small audience': contacts({ audience_id: AUDIENCES[3], search: 'z' }),
    'contacts: absent in a small audience': contacts({ audience_id: AUDIENCES[3], search: 'a' }),
    'contacts: of an empty audience': contacts({ audience_id: AUDIENCES[2], search: 'a' }),
    'audience numbers: large': `/audiences/${AUDIENCES[0]}/numbers`,
    'audience numbers: small': `/audiences/${AUDIENCES[3]}/numbers`,
    'suppressions: all': '/v1/suppressions?limit=50',
    'suppressions: common': suppressions({ email: 'ada' }),
    'suppressions: one': suppressions({ email: 'ada.40@' }),
    'suppressions: rare reason': '/v1/suppressions?limit=50&reason=manual',
    'suppressions: rare reason, search': suppressions({ reason: 'manual', email: 'donald' }),
    'suppressions: absent reason': suppressions({ reason: 'unsubscribe', email: 'a' }),
    'broadcast: links': `/broadcasts/${BROADCAST}/links`,
    'overview: attention': '/attention',
    'overview: queue': '/queue',
    'audit log': '/audit-log',
    'v1 deliveries: failed': `/v1/webhooks/${WEBHOOK}/deliveries?limit=50&status=failed`,
    'v1 inbound: spam': '/v1/inbound?spam_status=spam&limit=50',
    'operator: count of the queue': '/operator/queue',
    'operator: queue': queue({}),
    'operator: queue of a domain': queue({ domain: 'example7.test' }),
    'operator: queue of a provider': queue({ provider: 'other' }),
    'operator: queue of an absent provider': queue({ provider: 'google' }),
    'operator: queue of a reason': queue({ provider: 'other', reason: 'host-down' }),
    'operator: held queue': queue({ status: 'held' }),
    'operator: scheduled queue': queue({ status: 'scheduled' }),
    'operator: queue of an absent workspace': queue({ workspace_id: 'ws_absent' }),
    'operator: workspaces': '/operator/workspaces',
    'operator: health': '/operator/health',
  }
}

/** Every page, by its name; those of one record show one that is there. */
export function listPages(file, workspaceId) {
  const db = new SQLite(file, { readonly: true })
  const idFrom = (rest) => db.prepare(`select id from ${rest}`).pluck().get(workspaceId)
  const newest = (table, order = 'created_at') =>
    idFrom(`${table} where workspace_id = ? order by ${order} desc limit 1`)
  const pages = {
    ...{ overview: '/overview', emails: '/emails', 'emails: absent recipient': '/emails?recipient=absent' },
    'email: delivered': `/emails/${idFrom("emails where workspace_id = ? and status = 'delivered' limit 1")}`,
    'email: newest': `/emails/${idFrom('emails where workspace_id = ? and broadcast_id is null order by created_at desc limit 1')}`,
    'email: new': '/emails/new',
    ...{ metrics: '/metrics', links: '/links', domains: '/domains', domain: `/domains/${newest('domains')}` },
    ...{ inbound: '/inbound', 'inbound message': `/inbound/${newest('inbound_emails', 'received_at')}` },
    ...{ audiences: '/audiences', audience: `/audiences/${AUDIENCES[0]}`, contacts: '/contacts' },
    contact: `/contacts/${newest('contacts')}`,
    ...{ templates: '/templates', template: `/templates/${newest('templates')}`, broadcasts: '/broadcasts' },
    ...{ broadcast: `/broadcasts/${BROADCAST}`, suppressions: '/suppressions', exports: '/exports' },
    ...{ webhooks: '/webhooks', webhook: `/webhooks/${WEBHOOK}`, keys: '/keys', members: '/members' },
    ...{ 'audit log': '/audit-log', usage: '/usage', workspace: '/workspace', account: '/account' },
    ...{ 'operator: workspaces': '/operator/workspaces', 'operator: workspace': `/operator/workspaces/${workspaceId}` },
    ...{ 'operator: queue': '/operator/queue', 'operator: entries': '/operator/queue?tab=entries' },
    'operator: queue by provider': '/operator/queue?tab=providers',
    'operator: entries of a provider': '/operator/queue?tab=entries&provider=other',
    ...{ 'operator: spam': '/operator/spam', 'operator: suppressions': '/operator/suppressions' },
    ...{ 'operator: health': '/operator/health', 'operator: log': '/operator/log' },
  }
  db.close()
  return Object.entries(pages)
}

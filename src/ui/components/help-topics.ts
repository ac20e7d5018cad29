/** Finds the page of the documentation that belongs to a page of the dashboard. */

/** The beginning of a path, and the page of the documentation, perhaps with a heading. The longest beginning counts. */
const topics: Readonly<Record<string, string>> = {
  '/overview': 'README',
  '/emails': 'not-arriving',
  '/emails/new': 'test-emails',
  '/domains': 'domains',
  '/suppressions': 'bounces#effects',
  '/inbound': 'receiving',
  '/audiences': 'audiences',
  '/contacts': 'audiences#contacts',
  '/templates': 'templates',
  '/broadcasts': 'broadcasts',
  '/metrics': 'metrics',
  '/links': 'tracking',
  '/events': 'events',
  '/files': 'templates#cached-files',
  '/exports': 'exports',
  '/usage': 'limits',
  '/workspace': 'people#workspaces',
  '/keys': 'people#what-a-key-may-do',
  '/webhooks': 'webhooks',
  '/members': 'people#members-and-invitations',
  '/audit-log': 'people#what-is-stored',
  '/account': 'people#signing-in',
  '/operator/workspaces': 'people#the-operators-workspace',
  '/operator/queue': 'queue',
  '/operator/spam': 'spam-bayes',
  '/operator/suppressions': 'bounces#effects',
  '/operator/sms-holds': 'sms',
  '/operator/health': 'doctor',
  '/operator/log': 'logs',
}

/** Null for a page without a topic, such as a page of the documentation. */
export function findHelpTopic(location: string): string | null {
  const parts = location.split('/')
  const paths = parts.map((_, at) => parts.slice(0, parts.length - at).join('/'))
  return paths.map((path) => topics[path]).find((topic) => topic !== undefined) ?? null
}

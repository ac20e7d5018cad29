/** The rows of the interface's tables, as its document lists them, and those that are not implemented yet. */

export const rows: Readonly<Record<string, readonly string[]>> = {
  'API keys': ['POST /v1/api-keys', 'GET /v1/api-keys', 'DELETE /v1/api-keys/:id'],
  Emails: [
    'POST /v1/emails',
    'GET /v1/emails',
    'GET /v1/emails/:id',
    'POST /v1/emails/batch',
    'GET /v1/emails/:id/clicks',
  ],
  Contacts: [
    'POST /v1/contacts',
    'GET /v1/contacts',
    'PATCH /v1/contacts/:id',
    'DELETE /v1/contacts/:id',
    'POST /v1/contacts/bulk',
  ],
  Audiences: ['POST /v1/audiences', 'GET /v1/audiences', 'GET /v1/audiences/:id', 'DELETE /v1/audiences/:id'],
  Templates: ['POST /v1/templates', 'GET /v1/templates', 'DELETE /v1/templates/:id'],
  Domains: ['POST /v1/domains', 'GET /v1/domains', 'POST /v1/domains/:id/verify', 'DELETE /v1/domains/:id'],
  Suppressions: [
    'GET /v1/suppressions',
    'POST /v1/suppressions',
    'GET /v1/suppressions/:id',
    'DELETE /v1/suppressions/:id',
    'DELETE /v1/suppressions',
  ],
  'Inbound email': [
    'GET /v1/inbound',
    'GET /v1/inbound/:id',
    'GET /v1/inbound/:id/attachments',
    'POST /v1/inbound/:id/reply',
    'DELETE /v1/inbound/:id',
  ],
  Tracking: ['GET /v1/track/open/:emailId', 'GET /v1/track/click/:trackingId'],
  'Metrics and usage': ['GET /v1/metrics', 'GET /v1/metrics/links', 'GET /v1/usage'],
  Exports: ['POST /v1/exports', 'GET /v1/exports', 'GET /v1/exports/:id/download', 'DELETE /v1/exports'],
  Files: ['POST /v1/files'],
  'SMS verification': ['POST /v1/sms/verify/send', 'POST /v1/sms/verify/check'],
  Webhooks: ['POST /v1/webhooks', 'GET /v1/webhooks', 'PATCH /v1/webhooks/:id', 'DELETE /v1/webhooks/:id'],
  Workspaces: [
    'GET /v1/workspaces',
    'POST /v1/workspaces',
    'GET /v1/workspaces/:id',
    'PATCH /v1/workspaces/:id',
    'DELETE /v1/workspaces/:id',
  ],
  'Members and invitations': [
    'GET /v1/members',
    'POST /v1/members',
    'PATCH /v1/members/:id',
    'DELETE /v1/members/:id',
    'GET /v1/invitations',
    'DELETE /v1/invitations/:id',
  ],
}

const sectionsToCome: readonly string[] = []

/** Routes that answer 404 `not_found`. */
export const toCome: readonly string[] = [...sectionsToCome.flatMap((section) => rows[section] ?? [])]

/** Routes that the document does not name. Their permissions and owners: test/servers/api/isolation.test.ts. */
export const beyond: readonly string[] = [
  'GET /v1/emails/:id/story',
  'POST /v1/workspaces/:id/transfer',
  'POST /v1/templates/:id/render',
  'POST /v1/audiences/:id/import',
  'POST /v1/audiences/:id/import/preview',
  'GET /v1/audiences/:id/export',
  'POST /v1/suppressions/import',
  'GET /v1/imports/:id',
  'GET /v1/inbound/:id/raw',
  'GET /v1/inbound/:id/attachments/:place',
  'GET /v1/inbound/:id/raw/download',
  'POST /v1/inbound/:id/feedback',
  'GET /v1/broadcasts/:id/recipients',
  'POST /v1/broadcasts/:id/duplicate',
  'POST /v1/domains/:id/rotate',
  'GET /v1/domains/:id/reports',
  'GET /v1/domains/:id/reports/:reportId',
  'GET /v1/breakers',
  'POST /v1/breakers/:id/release',
  'POST /v1/domains/:id/forwards',
  'GET /v1/domains/:id/forwards',
  'GET /v1/domains/:id/forwards/:forward_id',
  'PATCH /v1/domains/:id/forwards/:forward_id',
  'DELETE /v1/domains/:id/forwards/:forward_id',
  'GET /v1/inbound/:id/forwards',
  'GET /v1/forwards/:token',
  'POST /v1/forwards/:token',
  'POST /v1/invitations/accept',
  'GET /v1/unsubscribe/:token',
  'POST /v1/unsubscribe/:token',
  'GET /v1/sms/receipts/:id/:token',
  'POST /v1/sms/receipts/:id/:token',
]

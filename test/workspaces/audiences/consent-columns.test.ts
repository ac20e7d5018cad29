/** What the exports of other services say about consent: nobody who unsubscribed is imported as subscribed. */
import t from 'tap'
import { Refusal } from '../../../src/base/mail/refusal.js'
import { consentKindOf, readConsent } from '../../../src/workspaces/audiences/consent-columns.js'
import { parseContactColumns, parseContactLine } from '../../../src/workspaces/audiences/contact-columns.js'

const read = (names: string, cells: string): Record<string, unknown> => ({
  ...parseContactLine(parseContactColumns({ line: 1, cells: names.split('|') }), { line: 2, cells: cells.split('|') }),
})

/** Service, its columns, a contact that may get mail, contacts that may not. */
const exports: readonly (readonly [string, string, string, readonly string[]])[] = [
  [
    'Mailchimp',
    'Email Address|First Name|OPTIN_TIME|CONFIRM_IP|UNSUB_TIME|UNSUB_REASON',
    'a@b.test|Ann|2023-01-02 10:00:00|192.0.2.1||',
    ['a@b.test|Ann|2023-01-02 10:00:00|192.0.2.1|2024-01-02 10:00:00|', 'a@b.test|Ann||||N/A (Unsubscribed by admin)'],
  ],
  ['Mailchimp, cleaned', 'Email Address|CLEAN_TIME|CLEAN_CAMPAIGN_ID', 'a@b.test||', ['a@b.test|2024-01-02|17']],
  [
    'Mailchimp, status',
    'Email|Status',
    'a@b.test|subscribed',
    ['unsubscribed', 'cleaned', 'pending', 'transactional', 'archived', 'nonsubscribed'].map(
      (word) => `a@b.test|${word}`,
    ),
  ],
  ['Brevo', 'EMAIL|DOUBLE_OPT-IN|OPT_IN', 'a@b.test|1|true', ['a@b.test|2|true', 'a@b.test|1|false', 'a@b.test||']],
  ['Brevo, list', 'EMAIL|emailBlacklisted|smsBlacklisted', 'a@b.test|false|true', ['a@b.test|true|false']],
  ['Brevo, newer', 'EMAIL|Email blocklisted', 'a@b.test|No', ['a@b.test|Yes']],
  [
    'Mailjet',
    'Email|IsUnsubscribed|IsExcludedFromCampaigns|IsOptInPending',
    'a@b.test|false|false|false',
    ['a@b.test|true|false|false', 'a@b.test|false|TRUE|false', 'a@b.test|false|false|1'],
  ],
  ['Mailjet, list', 'Email|unsub', 'a@b.test|0', ['a@b.test|1', 'a@b.test|2024-01-02T10:00:00Z']],
  [
    'listmonk',
    'uuid|email|name|attributes|status|created_at|updated_at',
    'u|a@b.test|Ann|{}|enabled||',
    ['u|a@b.test|Ann|{}|blocklisted||', 'u|a@b.test|Ann|{}|disabled||'],
  ],
  [
    'listmonk, list',
    'email|status|subscription_status',
    'a@b.test|enabled|confirmed',
    ['a@b.test|enabled|unsubscribed'],
  ],
  [
    'Klaviyo',
    'Email|Email Marketing Consent|Email Marketing Consent Timestamp|SMS Marketing Consent',
    'a@b.test|SUBSCRIBED|2024-01-02|UNSUBSCRIBED',
    ['a@b.test|UNSUBSCRIBED|2024-01-02|SUBSCRIBED', 'a@b.test|NEVER_SUBSCRIBED||', 'a@b.test|||SUBSCRIBED'],
  ],
  ['Klaviyo, consent', 'Email|$consent', 'a@b.test|["email","sms"]', ['a@b.test|["sms"]', 'a@b.test|']],
  ['Klaviyo, suppressed', 'Email|Suppression Reason', 'a@b.test|', ['a@b.test|UNSUBSCRIBE', 'a@b.test|HARD_BOUNCE']],
  [
    'Campaign Monitor',
    'Email Address|Name|State|ConsentToTrack',
    'a@b.test|Ann|Active|No',
    ['Unsubscribed', 'Bounced', 'Deleted', 'Unconfirmed'].map((word) => `a@b.test|Ann|${word}|Yes`),
  ],
  [
    'ActiveCampaign',
    'Contact ID|Email|Status|Unsubscribe Date',
    '7|a@b.test|Active|',
    ['7|a@b.test|Unconfirmed|', '7|a@b.test|Bounced|', '7|a@b.test|2|', '7|a@b.test|Active|2024-01-02'],
  ],
  [
    'MailerLite',
    'Email|Status|Unsubscribed|Opted in at|Location',
    'a@b.test|active||2024-01-02|Oslo',
    ['a@b.test|unsubscribed|||', 'a@b.test|junk|||', 'a@b.test||2024-01-02 10:00:00||'],
  ],
  [
    'Kit',
    'first_name|email|state|created_at',
    'Ann|a@b.test|active|',
    ['cancelled', 'bounced', 'complained', 'inactive'].map((word) => `Ann|a@b.test|${word}|`),
  ],
  [
    'HubSpot',
    'Record ID|Email|Unsubscribed from all email|Opted out of email: Marketing Information|Marketing contact status',
    '1|a@b.test|No||Marketing contact',
    ['1|a@b.test|Yes||Marketing contact', '1|a@b.test|No|true|Marketing contact', '1|a@b.test|||Non-marketing contact'],
  ],
  ['HubSpot, property', 'email|hs_email_optout|Lead Status', 'a@b.test|false|OPEN', ['a@b.test|true|OPEN']],
  [
    'Constant Contact',
    'Email address|Email status|Email permission status|Confirmed Opt-Out Date',
    'a@b.test|Active|Implied|',
    ['a@b.test|Awaiting confirmation||', 'a@b.test|Active|No Permissions Set|', 'a@b.test|Active|Express|2024-01-02'],
  ],
  [
    'Shopify',
    'Email|Accepts Email Marketing|Accepts SMS Marketing',
    'a@b.test|yes|no',
    ['a@b.test|no|yes', 'a@b.test||'],
  ],
  ['Salesforce', 'Email|HasOptedOutOfEmail', 'a@b.test|0', ['a@b.test|1']],
  ['Sendy', 'Name|Email|Status', 'A|a@b.test|Active', ['A|a@b.test|Marked as spam', 'A|a@b.test|Soft bounced']],
  ['Zoho', 'Contact Email|Contact Status', 'a@b.test|Active', ['a@b.test|Do-Not-Mail', 'a@b.test|Unsub']],
  ['Mautic', 'email|doNotContact', 'a@b.test|0', ['a@b.test|1', 'a@b.test|email: Unsubscribed']],
  [
    'Ghost',
    'id|email|subscribed_to_emails|deleted_at',
    '1|a@b.test|true|',
    ['1|a@b.test|false|', '1|a@b.test|true|2024'],
  ],
  ['Drip', 'email|eu_consent', 'a@b.test|granted', ['a@b.test|denied', 'a@b.test|unknown']],
  ['Intercom', 'Email|Unsubscribed from emails|Has hard bounced', 'a@b.test|false|false', ['a@b.test|false|true']],
  ['AWeber', 'Email|Stop Time|Stop Status', 'a@b.test||', ['a@b.test|01/02/24 10:00|unsubscribed']],
  ['phpList', 'email|confirmed|blacklisted', 'a@b.test|1|0', ['a@b.test|0|0', 'a@b.test|1|1']],
  ['Braze', 'email|email_subscribe', 'a@b.test|opted_in', ['a@b.test|unsubscribed']],
  ['Mailchimp, non-subscribed', 'Email Address|NON_SUBSCRIBED_TIME', 'a@b.test|', ['a@b.test|2024-01-02']],
  ['ActiveCampaign, figures', 'Email|Status|Bounced Hard', 'a@b.test|1|0', ['a@b.test|1|1']],
  [
    'HubSpot, ineligible',
    'Email|Is globally ineligible|hs_email_bad_address',
    'a@b.test||',
    ['a@b.test|true|', 'a@b.test||true'],
  ],
  [
    'Loops',
    'email|subscribed|optInStatus',
    'a@b.test|true|accepted',
    ['a@b.test|true|rejected', 'a@b.test|true|pending'],
  ],
  [
    'VerticalResponse',
    'Email|Opt-In Status|Opt-In Status Last Updated',
    'a@b.test|Opted In|2024',
    ['a@b.test|Unsubscribed|2024'],
  ],
  ['Marketo', 'Email|Unsubscribed|Marketing Suspended', 'a@b.test|0|0', ['a@b.test|0|1']],
  ['Pardot', 'Email|Is Mailable', 'a@b.test|TRUE', ['a@b.test|FALSE']],
  ['rapidmail', 'email|status|deleted', 'a@b.test|active|', ['a@b.test|active|2024-01-02']],
  ['Klaviyo, may receive', 'Email|Can Receive Email Marketing', 'a@b.test|true', ['a@b.test|false', 'a@b.test|']],
  ['Campaign Monitor, times', 'Email|Date Subscribed|Date Unsubscribed', 'a@b.test|2023|', ['a@b.test|2023|2024']],
  ['Constant Contact, hold', 'Email address|Email permission status', 'a@b.test|Express', ['a@b.test|Temp hold']],
  ['Pipedrive', 'Email|Marketing status', 'a@b.test|Subscribed', ['a@b.test|No consent']],
  ['consent taken back', 'email|consent_revoked_at', 'a@b.test|', ['a@b.test|2024-01-02']],
  ['French', 'Email|Désinscrit', 'a@b.test|non', ['a@b.test|oui']],
  ['French, without composed letters', 'Email|De\u0301sabonne\u0301', 'a@b.test|non', ['a@b.test|oui']],
  ['German', 'E-Mail|Abgemeldet am|Einwilligung', 'a@b.test||ja', ['a@b.test|2024|ja', 'a@b.test||nein', 'a@b.test||']],
  ['Spanish', 'email|Suscrito|Baja', 'a@b.test|sí|', ['a@b.test|no|', 'a@b.test|sí|2024']],
  ['a shop', 'email|Newsletter', 'a@b.test|ja', ['a@b.test|nein', 'a@b.test|']],
]

t.test('exports of other services: who may get mail, and who may not', async (t) => {
  for (const [service, names, good, others] of exports) {
    const line = read(names, good)
    t.match(line, { email: 'a@b.test' }, service)
    t.not(line['subscribed'], false, `${service}: ${good}`)
    t.notOk('withoutConsent' in line, `${service}: ${good}`)
    for (const other of others) {
      const { subscribed, withoutConsent, reason } = read(names, other)
      t.ok(subscribed === false || withoutConsent === true, `${service}: ${other}: ${String(reason ?? subscribed)}`)
    }
  }
})

t.test('what is not understood is refused, and what speaks of something else is data', async (t) => {
  t.match(read('email|status', 'a@b.test|gold'), { field: 'status', reason: /metadata\.…/ })
  t.match(read('email|subscribed', 'a@b.test|2024-01-02'), { field: 'subscribed', reason: /must be true or false/ })
  t.match(read('email|Listenstatus', 'a@b.test|abgemeldet'), { field: 'metadata.Listenstatus', reason: /status/ })
  t.match(read('email|Topic', 'a@b.test|OPT_OUT'), { field: 'metadata.Topic', reason: /status/ })
  t.match(read('email|metadata.status', 'a@b.test|gold'), { metadata: { status: 'gold' } })
  t.match(read('email|metadata.note', 'a@b.test|bounced'), { metadata: { note: 'bounced' } })
  t.match(read('email|State', 'a@b.test|IN'), { metadata: { State: 'IN' } })
  t.notOk('subscribed' in read('email|State', 'a@b.test|NO'), 'a state of a country')
  for (const name of [
    'Subscription preferences',
    'active_subscription',
    'gdpr_fields',
    'Unclear marketing permission text x',
  ])
    t.throws(() => read(`email|${name}`, 'a@b.test|x'), Refusal, name)
  t.throws(() => read('email|created', 'a@b.test|1'), Refusal, "SendGrid's unsubscribes")
  t.throws(() => read('email|created|group_id|group_name', 'a@b.test|1|2|News'), Refusal, 'those of a group')
  t.throws(() => read("email|Legal basis for processing contact's data", 'a@b.test|Not applicable'), Refusal, 'HubSpot')
  for (const name of [
    ...[
      'Plan',
      'Lead Status',
      'Order status',
      'Subscription plan',
      'subscribed_at',
      'OPTIN_TIME',
      'Subscriber ID',
      'Options',
    ],
    ...['unsubscribe_url', 'Marketing channel', 'SMS consent', 'ConsentToTrack', 'Opt-in IP', 'cleaning service'],
  ]) {
    const kind = consentKindOf(name)
    t.ok(kind === null || kind === 'data', `${name}: ${kind}`)
  }
})

t.test('one refusal decides', async (t) => {
  t.match(read('email|subscribed|unsubscribed_at', 'a@b.test|yes|2024'), { subscribed: false })
  t.match(read('email|status|subscribed', 'a@b.test|active|'), { subscribed: true })
  t.equal(readConsent('subscribed', 'status', 'Active, Unsubscribed'), false)
  t.equal(readConsent('subscribed', 'status', 'Unsubscribed (by the user)'), false)
  t.equal(readConsent('unsubscribed', 'unsubscribed', 'no'), true)
  t.equal(readConsent('unsubscribed', 'bounced', 'no'), null)
  t.equal(readConsent('unsubscribed', 'unsubscribed_at', '0000-00-00 00:00:00'), null)
})

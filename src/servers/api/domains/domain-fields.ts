/** The fields of sending domains in requests and answers. */
import { z } from 'zod'
import { MAX_BLOCKED } from '../../../workspaces/domains/verification/blocked-addresses.js'
import { notBoth, required } from '../http/input/field-rules.js'
import { withMaxSize } from '../http/input/schema-bounds.js'
import { timestamp, uuid } from '../http/input/values.js'

const flag = z.boolean('allowed: true or false')

const trackingRule =
  'Whether opens and clicks are tracked if an email does not say so; null: on over `/emails`, off over SMTP and the paths of other services.'

const name = z
  .string('allowed: a domain name')
  .max(300, 'allowed: a domain name')
  .meta({ description: 'U-labels or A-labels. Public suffixes and reserved names are refused.' })

const capability = z.enum(['enabled', 'disabled'])

/** The fields by which clients of Resend say the same. */
const fieldsOfResend = {
  open_tracking: flag.optional().meta({ description: 'Another name of `tracking.open`.' }),
  click_tracking: flag.optional().meta({ description: 'Another name of `tracking.click`.' }),
  capabilities: z
    .strictObject({
      sending: z.literal('enabled', 'allowed: enabled').optional(),
      receiving: capability.optional(),
    })
    .optional()
    .meta({ description: '`receiving` is another name of `inbound`.' }),
  tls: z
    .literal('opportunistic', 'allowed: opportunistic, because the header field TLS-Required and routes ask for more')
    .optional()
    .meta({ description: 'Ignored.' }),
}

/** `inbound` and `tracking` of a request, by either name. */
export function switchesOf({
  inbound,
  tracking,
  capabilities,
  ...given
}: {
  readonly inbound?: boolean | undefined
  readonly tracking?:
    | { readonly open?: boolean | null | undefined; readonly click?: boolean | null | undefined }
    | undefined
  readonly capabilities?: { readonly receiving?: 'enabled' | 'disabled' | undefined } | undefined
  readonly open_tracking?: boolean | undefined
  readonly click_tracking?: boolean | undefined
}): { inbound: boolean | undefined; trackOpens: boolean | null | undefined; trackClicks: boolean | null | undefined } {
  const receiving = capabilities?.receiving === undefined ? undefined : capabilities.receiving === 'enabled'
  return {
    inbound: inbound ?? receiving,
    trackOpens: tracking?.open === undefined ? given.open_tracking : tracking.open,
    trackClicks: tracking?.click === undefined ? given.click_tracking : tracking.click,
  }
}

export const domainRequest = z
  .strictObject({
    domain: name.optional(),
    name: name.optional().meta({ description: 'Another name of `domain`.' }),
    inbound: flag.optional().meta({ description: 'Default false.' }),
    region: z.string().max(100).optional().meta({ description: 'Ignored.' }),
    ...fieldsOfResend,
  })
  .check(required('domain', 'name'), notBoth('domain', 'name'))
  .meta({ id: 'DomainRequest', example: { domain: 'example.com', inbound: true } })

/** Kinds of what a domain asks of the mail that it receives. */
const policyWords = {
  greylisting: z
    .enum(['default', 'on', 'off'], 'allowed: default, on, off')
    .meta({ description: 'Whether unknown senders have to come back later. `default`: as the service is set.' }),
  spam: z
    .enum(['file', 'refuse'], 'allowed: file, refuse')
    .meta({ description: 'What becomes of a message whose score is that of spam.' }),
  dmarc: z.enum(['default', 'strict', 'off'], 'allowed: default, strict, off').meta({
    description:
      '`strict`: every message that fails DMARC is refused, whatever the policy of its author. `off`: none is.',
  }),
}

const inboundPolicy = z.strictObject(policyWords).meta({
  description:
    'What the domain asks of the mail that it receives. A message to several recipients is refused only if all of their domains refuse it.',
  example: { greylisting: 'default', spam: 'file', dmarc: 'default' },
})

export const recordStatus = z.enum(['pending', 'verified', 'failed']).meta({
  description: 'Result of the last DNS check: correct, wrong or missing; `pending` before the first check.',
})

const relativeName = z.string().meta({
  description: 'The name within `dns_zone`, as most DNS providers ask for it; `@` is the zone itself.',
  example: '_dmarc',
})

const dnsRecord = z
  .strictObject({
    type: z.literal('CNAME'),
    name: z.string(),
    relative_name: relativeName,
    value: z.string(),
    purpose: z.enum(['mail_cname', 'dkim1', 'dkim2']),
    status: recordStatus,
  })
  .meta({ id: 'DnsRecord' })

const buildExampleRecord = (purpose: 'mail_cname' | 'dkim1' | 'dkim2', name: string, value: string) =>
  ({
    ...{ type: 'CNAME', name, relative_name: name.replace('.example.com', '') },
    ...{ value, purpose, status: 'verified' },
  }) as const
const exampleRecords = [
  buildExampleRecord('mail_cname', 'mail.example.com', 'mail.k3.zone.example.net'),
  buildExampleRecord('dkim1', 'dkim1._domainkey.example.com', 'dkim1.k3.zone.example.net'),
  buildExampleRecord('dkim2', 'dkim2._domainkey.example.com', 'dkim2.k3.zone.example.net'),
]

/** What `domain-answers.ts` has beside it. */
export const listedDomain = z.strictObject({
  id: uuid,
  domain: z.string(),
  status: z.enum(['pending', 'verified', 'failed']),
  forced: z.boolean().meta({
    description: 'The operator has verified the domain without DNS: missing records do not stop its mail.',
    example: false,
  }),
  inbound: z.boolean(),
  dns_records: z.array(dnsRecord).meta({ example: exampleRecords }),
  created_at: timestamp,
  verified_at: timestamp.nullable(),
})

export const detailedDomain = listedDomain.extend({
  dns_zone: z.string().meta({
    description: 'The registered domain, by which the DNS provider lists the zone with the records.',
    example: 'example.com',
  }),
  mx_record: z
    .strictObject({
      type: z.literal('MX'),
      name: z.string().meta({ example: 'example.com' }),
      relative_name: relativeName.meta({ example: '@' }),
      value: z.string().meta({ example: 'mx.example.net' }),
      priority: z.literal(10),
      status: recordStatus,
    })
    .meta({
      description: 'For a domain that receives mail, and checked while it does. Verification does not need it.',
    }),
  dmarc_record: z
    .strictObject({
      type: z.literal('TXT'),
      name: z.string().meta({ example: '_dmarc.example.com' }),
      relative_name: relativeName,
      value: z.string().meta({ example: 'v=DMARC1; p=none; rua=mailto:dmarc@mail.example.net' }),
      status: recordStatus,
    })
    .meta({ description: 'A suggestion, with which reports come to us; any DMARC policy is accepted.' }),
  tls_records: z
    .array(
      z.strictObject({
        type: z.enum(['CNAME', 'TXT']),
        name: z.string().meta({ example: '_mta-sts.example.com' }),
        relative_name: relativeName.meta({ example: '_mta-sts' }),
        value: z.string().meta({ example: '_mta-sts.mail.example.net' }),
      }),
    )
    .meta({
      description:
        'Suggestions for a domain all of whose mail comes here; the CNAMEs have an effect once the service publishes an ' +
        'MTA-STS policy. Verification does not need them.',
    }),
  dkim_keys: z
    .array(
      z.strictObject({
        selector: z.string(),
        name: z.string().meta({ example: 'dkim1._domainkey.example.com' }),
        relative_name: relativeName.meta({ example: 'dkim1._domainkey' }),
        txt: z.string(),
        signing: z.boolean(),
      }),
    )
    .meta({ description: 'The keys as TXT records, for DNS without CNAME support.' }),
  tracking: z
    .strictObject({ open: z.boolean().nullable(), click: z.boolean().nullable() })
    .meta({ description: trackingRule }),
  blocked_addresses: z.array(z.string()).meta({ description: 'Addresses to which mail is refused.' }),
  inbound_policy: inboundPolicy,
  rotation: z
    .strictObject({
      selector: z.enum(['dkim1', 'dkim2']),
      state: z.enum(['retiring', 'publishing']),
      asked_at: timestamp,
    })
    .nullable()
    .meta({
      example: null,
      description:
        'A key rotation in progress: `retiring` while queued mail still needs the old key of the selector, `publishing` until DNS shows its new key.',
    }),
  checked_at: timestamp.nullable().meta({ description: 'When all records were last checked in DNS.' }),
  fails_at: timestamp.nullable().meta({
    description:
      'The records of this verified domain are missing in DNS; unless they return, sending stops at this time.',
  }),
})

export const domainChangeRequest = z
  .strictObject({
    inbound: flag
      .optional()
      .meta({ description: 'Whether the domain receives mail. It must be verified to turn this on.' }),
    tracking: z
      .strictObject({ open: flag.nullable().optional(), click: flag.nullable().optional() })
      .optional()
      .meta({ description: trackingRule }),
    blocked_addresses: withMaxSize(
      MAX_BLOCKED,
      'addresses',
      z.array(
        z.string('allowed: a local part, or an address of the domain').max(320, 'allowed: a local part or address'),
      ),
    )
      .optional()
      .meta({ description: 'The complete list: it replaces the one before. Exact: `a` does not block `a+b`.' }),
    inbound_policy: inboundPolicy
      .partial()
      .optional()
      .meta({ description: 'What the domain asks of the mail that it receives. Words that are not given stay.' }),
    ...fieldsOfResend,
  })
  .meta({ id: 'DomainChange', example: { inbound: true, blocked_addresses: ['info'] } })

export type DomainChangeRequest = z.output<typeof domainChangeRequest>

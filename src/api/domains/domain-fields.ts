/** Sending domains as requests and answers hold them. */
import { z } from 'zod'
import { MAX_BLOCKED } from '../../domains/verification/blocked-addresses.js'
import { withMaxSize } from '../http/input/schema-bounds.js'
import { timestamp, uuid } from '../http/input/values.js'

const flag = z.boolean('allowed: true or false')

export const domainRequest = z
  .strictObject({
    domain: z
      .string('allowed: a domain name')
      .max(300, 'allowed: a domain name')
      .meta({ description: 'International names in either form. No public suffix, no reserved name.' }),
    inbound: flag.default(false),
  })
  .meta({ id: 'DomainRequest', example: { domain: 'example.com', inbound: true } })

const recordStatus = z.enum(['pending', 'verified', 'failed']).meta({
  description: 'What the last look at DNS found: as it must be, something else or nothing; `pending` before the first.',
})

const dnsRecord = z
  .strictObject({
    type: z.literal('CNAME'),
    name: z.string(),
    value: z.string(),
    purpose: z.enum(['mail_cname', 'dkim1', 'dkim2']),
    status: recordStatus,
  })
  .meta({ id: 'DnsRecord' })

const buildExampleRecord = (purpose: 'mail_cname' | 'dkim1' | 'dkim2', name: string, value: string) =>
  ({ type: 'CNAME', name, value, purpose, status: 'verified' }) as const
const exampleRecords = [
  buildExampleRecord('mail_cname', 'mail.example.com', 'mail.k3.zone.example.net'),
  buildExampleRecord('dkim1', 'dkim1._domainkey.example.com', 'dkim1.k3.zone.example.net'),
  buildExampleRecord('dkim2', 'dkim2._domainkey.example.com', 'dkim2.k3.zone.example.net'),
]

export const listedDomain = z
  .strictObject({
    id: uuid,
    domain: z.string(),
    status: z.enum(['pending', 'verified', 'failed']),
    inbound: z.boolean(),
    dns_records: z.array(dnsRecord).meta({ example: exampleRecords }),
    created_at: timestamp,
    verified_at: timestamp.nullable(),
  })
  .meta({ id: 'ListedDomain' })

export const detailedDomain = listedDomain
  .extend({
    mx_record: z
      .strictObject({
        type: z.literal('MX'),
        name: z.string().meta({ example: 'example.com' }),
        value: z.string().meta({ example: 'mx.example.net' }),
        priority: z.literal(10),
        status: recordStatus,
      })
      .meta({
        description: 'For a domain that takes mail in; looked at while it does. Verification does not need it.',
      }),
    dmarc_record: z
      .strictObject({
        type: z.literal('TXT'),
        name: z.string().meta({ example: '_dmarc.example.com' }),
        value: z.string().meta({ example: 'v=DMARC1; p=none' }),
        status: recordStatus,
      })
      .meta({ description: 'A suggestion; any DMARC policy counts.' }),
    dkim_keys: z
      .array(
        z.strictObject({
          selector: z.string(),
          name: z.string().meta({ example: 'dkim1._domainkey.example.com' }),
          txt: z.string(),
          signing: z.boolean(),
        }),
      )
      .meta({ description: 'The keys as TXT records, for DNS where CNAMEs are not possible.' }),
    tracking: z
      .strictObject({ open: z.boolean(), click: z.boolean() })
      .meta({ description: 'Of mail submitted by SMTP whose header does not say.' }),
    blocked_addresses: z.array(z.string()).meta({ description: 'To which the domain takes no mail.' }),
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
          'The change to another DKIM key that is under way: `retiring` while mail on its way still needs the old key of the selector, `publishing` until its key is seen in DNS.',
      }),
    checked_at: timestamp.nullable().meta({ description: 'When DNS last answered for all records.' }),
    fails_at: timestamp.nullable().meta({
      description:
        'DNS does not have the records of this verified domain any more; if that stays so, sending stops then.',
    }),
  })
  .meta({ id: 'Domain' })

export const domainChangeRequest = z
  .strictObject({
    inbound: flag
      .optional()
      .meta({ description: 'Whether it takes mail in. To turn it on the domain must be verified.' }),
    tracking: z
      .strictObject({ open: flag.optional(), click: flag.optional() })
      .optional()
      .meta({ description: 'Of mail submitted by SMTP whose header does not say.' }),
    blocked_addresses: withMaxSize(
      MAX_BLOCKED,
      'addresses',
      z.array(
        z.string('allowed: a local part, or an address of the domain').max(320, 'allowed: a local part or address'),
      ),
    )
      .optional()
      .meta({ description: 'All of them: those that are missing are open again. Exact: `a` does not block `a+b`.' }),
  })
  .meta({ id: 'DomainChange', example: { inbound: true, blocked_addresses: ['info'] } })

export type DomainChangeRequest = z.output<typeof domainChangeRequest>

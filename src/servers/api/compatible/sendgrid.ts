/** The service SendGrid: `POST /v3/mail/send`, and its errors. */
import { z } from 'zod'
import type { BatchStyle, EmailAcceptance } from '../emails/email-acceptance.js'
import type { Answer } from '../http/answer.js'
import { type ErrorBody, fieldFaultsOf } from '../http/error-answer.js'
import { MAX_BODY } from '../http/input/json-body.js'
import type { CompatibleService, ServiceError } from '../http/route/compatible-service.js'
import { type Call, type Route, route } from '../http/route/route.js'
import { SendGridEmails, type SendGridMail, sendGridMail } from './sendgrid-mail.js'

const PATH = '/v3/mail/send'

/** The first parts of its paths. Mailgun has the name of a domain there. */
const SECTIONS = [
  ...['access_settings', 'alerts', 'api_keys', 'asm', 'browsers', 'campaigns', 'categories', 'clients', 'contactdb'],
  ...['designs', 'devices', 'geo', 'ips', 'mail', 'mail_settings', 'mailbox_providers', 'marketing', 'messages'],
  ...['partner_settings', 'scopes', 'senders', 'sso', 'stats', 'subusers', 'suppression', 'teammates', 'templates'],
  ...['tracking_settings', 'user', 'validations', 'verified_senders', 'whitelabel'],
]

export function isSendGridPath(path: string): boolean {
  const [root, version, section = ''] = path.split('/', 4)
  return root === '' && version === 'v3' && SECTIONS.includes(section)
}

export function sendGridService(acceptance: EmailAcceptance): CompatibleService {
  return {
    name: 'sendgrid',
    title: 'SendGrid',
    keyScheme: { type: 'http', scheme: 'bearer' },
    owns: isSendGridPath,
    routes: [sendRoute(acceptance)],
    errorSchema,
    toError,
  }
}

/** What is stored of the first email. It is the answer's field X-Message-Id. */
const sent = z.object({ id: z.string() })

const style: BatchStyle<z.output<typeof sent>> = {
  tracksByDefault: false,
  // The service accepts mail to such recipients, and reports it as dropped.
  keepsSuppressed: true,
  strict: true,
  inParts: true,
  sharesBytes: true,
  toItem: ({ enqueued }) => ({ id: enqueued.email.id }),
  toAnswer: ([first]) => first,
}

function sendRoute(acceptance: EmailAcceptance): Route {
  return route<undefined, SendGridMail>({
    ...{ method: 'POST', path: PATH, area: 'send', tag: 'Mail' },
    summary: 'Send an email for each personalization',
    description:
      'If one is refused, none is sent. More than 100 are stored in parts: then those of the parts before it are sent, and the error says how many.',
    body: sendGridMail,
    maxBody: MAX_BODY,
    answers: {
      200: { description: 'The request is valid; with `sandbox_mode` nothing is sent.' },
      202: { description: 'They are stored, and will be delivered.', headers: ['X-Message-Id'] },
    },
    refusals: [],
    run: (call) => send(acceptance, call),
  })
}

async function send(acceptance: EmailAcceptance, call: Call<undefined, SendGridMail>): Promise<Answer> {
  const isTest = call.body.mail_settings?.sandbox_mode?.enable === true
  const { json, emails } = await acceptance.acceptAll(call, new SendGridEmails(call.body), { ...style, isTest })
  const { id } = sent.parse(JSON.parse(json))
  return { kind: 'nothing', status: isTest ? 200 : 202, headers: { 'X-Message-Id': id }, emails }
}

const errorSchema = z
  .object({
    errors: z.array(z.object({ message: z.string(), field: z.string().nullable(), help: z.string().nullable() })),
  })
  .meta({ id: 'SendGridErrors' })

/** Each field at fault is an error. */
function toError(body: ErrorBody): ServiceError {
  const { message, status } = body.error
  const faults = fieldFaultsOf(body)
  const errors = faults.map((fault) => ({ message: fault.message, field: fault.field || null, help: null }))
  const whole = { message, field: null, help: null }
  return { status, body: { errors: errors.length === 0 ? [whole] : errors } satisfies z.output<typeof errorSchema> }
}

/** The hosted services whose client libraries work unchanged, and what to say of the paths of others. */
import type { CompatibleService } from '../http/route/compatible-service.js'
import { mailgunService } from './mailgun.js'
import type { MailgunDeps } from './mailgun-domain.js'
import { postmarkService } from './postmark.js'
import { type ResendDeps, resendService } from './resend.js'
import { isSendGridPath, sendGridService } from './sendgrid.js'
import { sesService } from './ses.js'
import { zeptoMailService } from './zeptomail.js'

interface ServiceDeps extends MailgunDeps {
  readonly resend: ResendDeps
}

/** Those that `api.compatible` names. */
export function buildCompatibleServices(names: readonly string[], deps: ServiceDeps): readonly CompatibleService[] {
  const { acceptance, messages, resend } = deps
  return [
    sendGridService(acceptance),
    sesService(acceptance, messages),
    zeptoMailService(acceptance),
    mailgunService(deps),
    resendService(resend),
    // It owns all paths of requests with its token that none of the others has.
    postmarkService(acceptance),
  ].filter(({ name }) => names.includes(name))
}

const PAGE = 'docs/coming-from.md'

/** Paths of services that are known and not served, below the version of our interface. */
const foreignPaths: readonly (readonly [path: RegExp, service: string])[] = [
  [/^\/api\/1\.0\/messages(?:\/|$)/, 'Mandrill'],
  [/^\/1\.0\/messages(?:\/|$)/, 'Mandrill'],
  [/^\/v3\/smtp\/email$/, 'Brevo'],
  [/^\/smtp\/email$/, 'Brevo'],
  [/^\/(?:v3|v3\.1)\/send$/, 'Mailjet'],
  [/^\/transmissions(?:\/|$)/, 'SparkPost'],
  [/^\/email$|^\/bulk-email$/, 'MailerSend'],
]

/** What to say of a path of a service that is not served here, or is switched off. */
export function explainForeignPath(path: string, names: readonly string[]): string | null {
  const [, service] = foreignPaths.find(([form]) => form.test(path)) ?? []
  if (service !== undefined) {
    return `the interface of ${service} is not served here: read ${PAGE}, or send over SMTP`
  }
  const isOff = (name: string): boolean => !names.includes(name)
  const off = isSendGridPath(path)
    ? 'sendgrid'
    : servedPaths.find(([form, name]) => form.test(path) && isOff(name))?.[1]
  return off === undefined || !isOff(off)
    ? null
    : `the interface of ${off} is off: api.compatible in the configuration names those that are on`
}

/** Paths of the services that can be served. */
const servedPaths: readonly (readonly [path: RegExp, name: string])[] = [
  [
    /^\/segments(?:\/|$)|^\/audiences\/[^/]{1,256}\/contacts(?:\/|$)|^\/emails\/receiving\/|^\/templates\/[^/]{1,256}\/publish$/,
    'resend',
  ],
  [/^\/email\/(?:batch|withTemplate|batchWithTemplates)$/, 'postmark'],
  [/^\/v3\/[^/]{1,253}\/(?:messages|messages\.mime|events|bounces|complaints|unsubscribes)(?:\/|$)/, 'mailgun'],
  [/^\/v2\/email\//, 'ses'],
  [/^\/v1\.1\/email(?:\/|$)/, 'zeptomail'],
]

/** Words what the sandbox prints on the terminal. Pure. */

import type { ListenAddress } from '../../base/config/network-values.js'
import { formatForDisplay } from '../../base/mail/address.js'
import type { EmailDetails } from '../../records/messages/email-details.js'
import { storyLines } from '../../records/messages/story/story-lines.js'
import { quoteForShell } from '../cli/command/shell-word.js'
import type { SandboxConfig } from './configuration.js'
import type { SampleDkimVerdict } from './dkim-verdict.js'
import { DOMAIN, type SandboxPaths } from './paths.js'
import type { SandboxSignIn } from './sign-in.js'
import type { SandboxArrival } from './sink.js'

export function arrivalLine({ to, subject, verdict, file }: SandboxArrival): string {
  return `arrived  to ${to.map(formatForDisplay).join(', ')}  "${formatForDisplay(subject)}"  ${formatVerdict(verdict)}  ${file}`
}

function formatVerdict({ result, signature }: SampleDkimVerdict): string {
  return signature === null ? 'not signed' : `DKIM ${result} (${formatForDisplay(signature.domain)})`
}

/** A sample that was delivered. */
export interface Sample {
  /** How it was submitted. */
  readonly interfaceName: string
  readonly story: EmailDetails
}

function deliveryLine({ interfaceName, story }: Sample): string {
  const [last] = story.recipients.flatMap(({ attempts }) => attempts.slice(-1))
  const how = last === undefined ? '' : ` over ${last.tls ?? 'plain text'} in ${last.duration_ms} ms`
  return `${story.status}  what was sent over ${interfaceName}${how}`
}

export function sampleLines({ interfaceName, story }: Sample): string[] {
  const indented = storyLines(story).map((line) => (line === '' ? '' : `  ${line}`))
  return [`How it got there, from submission over ${interfaceName} on:`, '', ...indented, '']
}

interface Guide {
  readonly paths: SandboxPaths
  readonly configured: SandboxConfig
  readonly key: string
  readonly signIn: SandboxSignIn
  readonly caFile: string
  /** The words that start the command line. */
  readonly program: readonly string[]
  readonly samples: readonly Sample[]
}

/** One screen: 24 lines of 100 columns, unless paths are long. */
export function screenLines(guide: Guide): string[] {
  const { paths, samples, signIn } = guide
  return [
    ...samples.map(deliveryLine),
    '',
    ...signInLines(signIn),
    '',
    'Paste this line to send one yourself:',
    ...curlCommand(guide),
    '',
    'More lines to paste, for SMTP, inbound mail, events, bounces and the queue, are in',
    `  ${paths.guide}`,
    'Configuration, data, what arrives (sink/) and the log (posthorn.log) are in',
    `  ${paths.folder}`,
    'Nothing leaves this machine.',
    'Serving until Ctrl-C.',
  ]
}

/** The file that the screen names. */
export function guideText(guide: Guide): string {
  const { paths, configured, program, samples } = guide
  const posthornCommand = (words: string): string =>
    `  ${program.map(quoteForShell).join(' ')} ${words} --config ${quoteForShell(paths.configuration)}`
  const lines = [
    'Lines to paste while scripts/quickstart runs. Each start writes this file again.',
    '',
    'Send over SMTP with STARTTLS or with TLS from the start (the password is the key):',
    '',
    swaksCommand(guide, configured.startTls, '--tls'),
    swaksCommand(guide, configured.tls, '--tls-on-connect'),
    '',
    'or over REST (the bearer token is the key):',
    '',
    ...curlCommand(guide),
    '',
    ...inboundLines(guide),
    'What happened to all mail is a list of events; docs/webhooks.md shows a program that gets them at once:',
    '',
    eventsCommand(guide),
    '',
    `To bounce@${DOMAIN} the sink answers 550, to defer@${DOMAIN} 451. Look at what happens:`,
    '',
    ...samples.slice(-1).map(({ story }) => posthornCommand(`explain ${story.id}`)),
    posthornCommand('queue list'),
    '',
    ...samples.flatMap(sampleLines),
  ]
  return lines.map((line) => `${line}\n`).join('')
}

function signInLines({ email, passwordUrl, url }: SandboxSignIn): string[] {
  const certificate = 'the browser warns of the certificate'
  return passwordUrl === null
    ? [`Open the dashboard and sign in as ${email} (${certificate}):`, `  ${url}`]
    : [`Open this link to set the password of ${email} (${certificate}):`, `  ${passwordUrl}`]
}

function inboundLines({ key, caFile, configured: { api, mx } }: Guide): string[] {
  if (mx === undefined) return []
  const fields = `-H 'Authorization: Bearer ${key}'`
  return [
    `Bring mail for ${DOMAIN}, any address of it, as another server would, and read it:`,
    '',
    `  swaks --server ${mx.host}:${mx.port} --tls --from friend@elsewhere.example --to ${RECIPIENT}`,
    `  curl --cacert ${quoteForShell(caFile)} ${fields} https://${api.host}:${api.port}/v1/inbound`,
    '',
  ]
}

const SENDER = `app@${DOMAIN}`
const RECIPIENT = `you@${DOMAIN}`

function swaksCommand({ key, caFile }: Guide, { host, port }: ListenAddress, mode: string): string {
  const trust = `--tls-verify --tls-ca-path ${quoteForShell(caFile)}`
  const login = `--auth PLAIN --auth-user any --auth-password ${key}`
  return `  swaks --server ${host}:${port} ${mode} ${trust} ${login} --from ${SENDER} --to ${RECIPIENT}`
}

/** It is continued over lines that fit the screen. */
function curlCommand({ key, caFile, configured: { api } }: Guide): string[] {
  const email = JSON.stringify({
    from: SENDER,
    to: RECIPIENT,
    subject: 'Hello',
    text: 'Hello!',
  })
  return [
    `  curl https://${api.host}:${api.port}/v1/emails --cacert ${quoteForShell(caFile)} \\`,
    `    -H 'Authorization: Bearer ${key}' \\`,
    `    -H 'Content-Type: application/json' \\`,
    `    -d '${email}'`,
  ]
}

function eventsCommand({ key, caFile, configured: { api } }: Guide): string {
  const url = `https://${api.host}:${api.port}/v1/events`
  return `  curl --cacert ${quoteForShell(caFile)} -H 'Authorization: Bearer ${key}' ${url}`
}

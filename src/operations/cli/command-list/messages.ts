/** The commands about messages: test mail, their story, spam, suppressions, reports, codes by SMS. */
import type { Command } from '../command/command.js'

const loadEmail = () => import('../commands/email-commands.js')
const loadLog = () => import('../commands/log-command.js')
const loadMessage = () => import('../commands/message-command.js')
const loadSpam = () => import('../commands/spam-commands.js')
const loadSuppression = () => import('../commands/suppression-commands.js')
const loadTlsReport = () => import('../commands/tls-report-commands.js')
const loadSms = () => import('../commands/sms-commands.js')

const reasonUsage = '[--reason hard_bounce|spam_complaint|manual|unsubscribe]'

export const messageCommands: readonly Command[] = [
  {
    name: 'send',
    usage: '--from ADDRESS --to ADDRESS [--subject TEXT]',
    summary: 'send one test message, wait for its first attempt, and print the outcome and what comes next',
    options: { from: 'string', to: 'string', subject: 'string' },
    run: async (call) => (await loadEmail()).send(call),
  },
  {
    name: 'explain',
    usage: 'EMAIL_ID|QUEUE_ID [--transcript]',
    summary: 'show what happened to an email or to one of its recipients, attempt by attempt, and what comes next',
    options: { transcript: 'boolean' },
    run: async (call) => (await loadEmail()).explain(call),
  },
  {
    name: 'log',
    usage: 'EMAIL_ID|QUEUE_ID|INBOUND_ID|MESSAGE-ID',
    summary:
      'show the whole life of one message: acceptance, attempts, webhooks, opens, clicks, reports, actions of users',
    options: {},
    run: async (call) => (await loadLog()).showLog(call),
  },
  {
    name: 'message show',
    usage: 'EMAIL_ID|QUEUE_ID|INBOUND_ID|MESSAGE-ID [--header | --raw]',
    summary: 'show a message as it was sent or received: its parts, files and text, its header, or all of its bytes',
    options: { header: 'boolean', raw: 'boolean' },
    run: async (call) => (await loadMessage()).showMessage(call),
  },
  {
    name: 'spam learn',
    usage: 'DIR --as spam|ham [--workspace ID]',
    summary: 'train the spam classifier with a folder or a Maildir that has one message in each file',
    options: { as: 'string', workspace: 'string' },
    run: async (call) => (await loadSpam()).learn(call),
  },
  {
    name: 'suppression list',
    usage: '[--service | --workspace ID]',
    summary: 'list the addresses to which a workspace, or the service itself, sends nothing',
    options: { workspace: 'string', service: 'boolean' },
    run: async (call) => (await loadSuppression()).list(call),
  },
  {
    name: 'suppression add',
    usage: `ADDRESS... ${reasonUsage} [--service | --workspace ID]`,
    summary: 'add addresses to the list: they are not written to from now on',
    options: { reason: 'string', workspace: 'string', service: 'boolean' },
    awaitsNotice: true,
    run: async (call) => (await loadSuppression()).add(call),
  },
  {
    name: 'suppression import',
    usage: `FILE|- ${reasonUsage} [--service | --workspace ID]`,
    summary:
      'add the addresses of a CSV file of this or another service; -: from standard input; the first line names the columns: ' +
      'email, and optionally reason (hard_bounce, spam_complaint, unsubscribe, manual)',
    options: { reason: 'string', workspace: 'string', service: 'boolean' },
    awaitsNotice: true,
    run: async (call) => (await loadSuppression()).importFile(call),
  },
  {
    name: 'suppression delete',
    usage: 'ADDRESS [--service | --workspace ID]',
    summary: 'allow mail to an address again',
    options: { workspace: 'string', service: 'boolean' },
    awaitsNotice: true,
    run: async (call) => (await loadSuppression()).remove(call),
  },
  {
    name: 'tls-reports',
    usage: '',
    summary: 'list the TLS reports to other domains of the last week, with the state of each',
    options: {},
    run: async (call) => (await loadTlsReport()).listReports(call),
  },
  {
    name: 'sms send',
    usage: 'PHONE [--workspace ID] [--template TEXT] [--code-length N] [--expiry-minutes N]',
    summary: 'send a verification code to a phone, and say whether the provider accepted it',
    options: { workspace: 'string', template: 'string', 'code-length': 'string', 'expiry-minutes': 'string' },
    run: async (call) => (await loadSms()).send(call),
  },
  {
    name: 'sms check',
    usage: 'PHONE CODE [--workspace ID]',
    summary: 'check a code that was sent to a phone',
    options: { workspace: 'string' },
    run: async (call) => (await loadSms()).check(call),
  },
  {
    name: 'sms holds',
    usage: '[--workspace ID]',
    summary: 'list the phone prefixes to which a workspace sends no codes for a while, because too few were entered',
    options: { workspace: 'string' },
    run: async (call) => (await loadSms()).showHolds(call),
  },
  {
    name: 'sms release',
    usage: 'PREFIX [--workspace ID]',
    summary: 'allow codes to a held phone prefix again, in one workspace or in all, and count entered codes from zero',
    options: { workspace: 'string' },
    run: async (call) => (await loadSms()).release(call),
  },
]

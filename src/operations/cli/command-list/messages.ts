/** The commands about messages: test mail, their story, spam, suppressions, reports, codes by SMS. */
import type { Command } from '../command/command.js'

const loadEmail = () => import('../commands/email-commands.js')
const loadLog = () => import('../commands/log-command.js')
const loadSpam = () => import('../commands/spam-commands.js')
const loadSuppression = () => import('../commands/suppression-commands.js')
const loadTlsReport = () => import('../commands/tls-report-commands.js')
const loadSms = () => import('../commands/sms-commands.js')

export const messageCommands: readonly Command[] = [
  {
    name: 'send',
    usage: '--from ADDRESS --to ADDRESS [--subject TEXT]',
    summary: 'send one test message, wait for its first attempt, and print its outcome and what comes next',
    options: { from: 'string', to: 'string', subject: 'string' },
    run: async (call) => (await loadEmail()).send(call),
  },
  {
    name: 'explain',
    usage: 'EMAIL_ID|QUEUE_ID [--transcript]',
    summary: 'what happened to an email, or to one recipient of it, attempt by attempt, and what comes next',
    options: { transcript: 'boolean' },
    run: async (call) => (await loadEmail()).explain(call),
  },
  {
    name: 'log',
    usage: 'EMAIL_ID|QUEUE_ID|INBOUND_ID|MESSAGE-ID',
    summary: 'the whole life of one message: acceptance, attempts, webhooks, readers, reports, acts of people',
    options: {},
    run: async (call) => (await loadLog()).showLog(call),
  },
  {
    name: 'spam learn',
    usage: 'DIR --as spam|ham [--workspace ID]',
    summary: 'teach the spam classifier with the messages of a folder or a Maildir, one in a file',
    options: { as: 'string', workspace: 'string' },
    run: async (call) => (await loadSpam()).learn(call),
  },
  {
    name: 'suppression list',
    usage: '[--service | --workspace ID]',
    summary: 'list the addresses that a workspace does not write to; --service: that the service does not write to',
    options: { workspace: 'string', service: 'boolean' },
    run: async (call) => (await loadSuppression()).list(call),
  },
  {
    name: 'suppression delete',
    usage: 'ADDRESS [--service | --workspace ID]',
    summary: 'let an address be written to again',
    options: { workspace: 'string', service: 'boolean' },
    awaitsNotice: true,
    run: async (call) => (await loadSuppression()).remove(call),
  },
  {
    name: 'tls-reports',
    usage: '',
    summary: 'list the TLS reports of the last week, and what became of them',
    options: {},
    run: async (call) => (await loadTlsReport()).listReports(call),
  },
  {
    name: 'sms send',
    usage: 'PHONE [--workspace ID] [--template TEXT] [--code-length N] [--expiry-minutes N]',
    summary: 'send a verification code to a phone, and say whether the provider took over the message',
    options: { workspace: 'string', template: 'string', 'code-length': 'string', 'expiry-minutes': 'string' },
    run: async (call) => (await loadSms()).send(call),
  },
  {
    name: 'sms check',
    usage: 'PHONE CODE [--workspace ID]',
    summary: 'check the code that arrived on a phone',
    options: { workspace: 'string' },
    run: async (call) => (await loadSms()).check(call),
  },
  {
    name: 'sms holds',
    usage: '[--workspace ID]',
    summary: 'list the prefixes of phones to which a workspace sends no code for a while, because too few were entered',
    options: { workspace: 'string' },
    run: async (call) => (await loadSms()).showHolds(call),
  },
  {
    name: 'sms release',
    usage: 'PREFIX [--workspace ID]',
    summary:
      'let codes be sent to such a prefix again, of one workspace or of all; entered codes are counted from now on',
    options: { workspace: 'string' },
    run: async (call) => (await loadSms()).release(call),
  },
]

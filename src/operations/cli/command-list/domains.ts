/** The commands about domains. */
import type { Command } from '../command/command.js'

const loadDomain = () => import('../commands/domain-commands.js')
const loadDomainReport = () => import('../commands/domain-report-command.js')
const loadDomainDns = () => import('../commands/domain-dns-commands.js')

const workspaceOption = { workspace: 'string' } as const

export const domainCommands: readonly Command[] = [
  {
    name: 'domain add',
    usage: 'NAME [--inbound] [--force] [--workspace ID] [--format zone|json|text]',
    summary: 'register a sending domain and print the DNS records that it needs',
    options: { ...workspaceOption, inbound: 'boolean', force: 'boolean', format: 'string' },
    awaitsNotice: true,
    needsFullNames: true,
    run: async (call) => (await loadDomain()).add(call),
  },
  {
    name: 'domain list',
    usage: '[--workspace ID]',
    summary: 'list the sending domains',
    options: workspaceOption,
    run: async (call) => (await loadDomain()).list(call),
  },
  {
    name: 'domain show',
    usage: 'NAME [--workspace ID]',
    summary: 'show a domain, its DNS records and its DKIM keys',
    options: workspaceOption,
    run: async (call) => (await loadDomain()).show(call),
  },
  {
    name: 'domain inbound',
    usage: 'NAME on|off [--workspace ID]',
    summary: 'receive mail for a verified domain, or stop receiving it',
    options: workspaceOption,
    awaitsNotice: true,
    run: async (call) => (await loadDomain()).setInbound(call),
  },
  {
    name: 'domain block',
    usage: 'NAME ADDRESS... [--workspace ID]',
    summary: 'refuse mail to these addresses of a domain',
    options: workspaceOption,
    awaitsNotice: true,
    run: async (call) => (await loadDomain()).block(call),
  },
  {
    name: 'domain unblock',
    usage: 'NAME ADDRESS... [--workspace ID]',
    summary: 'accept mail to these addresses again',
    options: workspaceOption,
    awaitsNotice: true,
    run: async (call) => (await loadDomain()).unblock(call),
  },
  {
    name: 'domain delete',
    usage: 'NAME [--yes] [--workspace ID]',
    summary: 'delete a domain; a verified one needs --yes',
    options: { ...workspaceOption, yes: 'boolean' },
    awaitsNotice: true,
    run: async (call) => (await loadDomain()).remove(call),
  },
  {
    name: 'domain import-key',
    usage: 'NAME FILE|- [--selector SELECTOR] [--workspace ID]',
    summary:
      'sign with an existing RSA key (PEM), so that its published DNS record stays as it is; -: from standard input',
    options: { ...workspaceOption, selector: 'string' },
    awaitsNotice: true,
    run: async (call) => (await loadDomain()).importKey(call),
  },
  {
    name: 'domain reports',
    usage: 'NAME [--workspace ID]',
    summary: "show who sends in a domain's name, according to the DMARC and TLS reports of other servers",
    options: workspaceOption,
    run: async (call) => (await loadDomainReport()).showReports(call),
  },
  {
    name: 'domain verify',
    usage: 'NAME [--force] [--workspace ID]',
    summary: 'look up the DNS records of a domain, and update its state',
    options: { ...workspaceOption, force: 'boolean' },
    awaitsNotice: true,
    run: async (call) => (await loadDomainDns()).verify(call),
  },
  {
    name: 'domain rotate',
    usage: 'NAME [--force] [--workspace ID]',
    summary: 'sign with the other DKIM key as soon as DNS shows it',
    options: { ...workspaceOption, force: 'boolean' },
    awaitsNotice: true,
    run: async (call) => (await loadDomainDns()).rotate(call),
  },
]

/** `domain add|list|show|inbound|block|unblock|delete|import-key`: where a workspace may send from, and what it takes in. */
import { readFile } from 'node:fs/promises'
import { type Action, operator, recordAct } from '../../accounts/audit-log.js'
import { changeDomain, type DomainChange } from '../../domains/change-domain.js'
import { deleteSendingDomain } from '../../domains/delete-domain.js'
import { domainResource } from '../../domains/domain-resource.js'
import { importedKey } from '../../domains/new-domain.js'
import { registerDomain } from '../../domains/register-domain.js'
import { domainsOfWorkspace, type SendingDomain } from '../../domains/sending-domains.js'
import { blockableKey } from '../../domains/verification/blocked-addresses.js'
import { failDomain } from '../../messages/queue/fail-domain.js'
import type { Write } from '../../storage/writer/write.js'
import {
  type Answer,
  atMost,
  type Call,
  type Command,
  CommandFailed,
  flag,
  required,
  UsageError,
  word,
} from '../command.js'
import { type Chosen, chosen, found, shown } from '../domain-choice.js'
import { table } from '../table.js'
import { chosenWorkspace } from '../workspace-choice.js'

const own = { workspace: 'string' } as const

export const domainCommands: readonly Command[] = [
  {
    name: 'domain add',
    usage: 'NAME [--inbound] [--force] [--workspace ID]',
    summary: 'register a sending domain; --force: verified without DNS, for closed networks',
    options: { ...own, inbound: 'boolean', force: 'boolean' },
    noticed: true,
    run: add,
  },
  { name: 'domain list', usage: '[--workspace ID]', summary: 'list the sending domains', options: own, run: list },
  {
    name: 'domain show',
    usage: 'NAME [--workspace ID]',
    summary: 'show a domain, its DNS records and its DKIM keys',
    options: own,
    run: show,
  },
  {
    name: 'domain inbound',
    usage: 'NAME on|off [--workspace ID]',
    summary: 'take mail in for a verified domain, or stop it',
    options: own,
    noticed: true,
    run: inbound,
  },
  {
    name: 'domain block',
    usage: 'NAME ADDRESS... [--workspace ID]',
    summary: 'refuse mail to these addresses of a domain',
    options: own,
    noticed: true,
    run: (call) => changeBlocked(call, (keys) => ({ block: keys })),
  },
  {
    name: 'domain unblock',
    usage: 'NAME ADDRESS... [--workspace ID]',
    summary: 'take mail to these addresses again',
    options: own,
    noticed: true,
    run: (call) => changeBlocked(call, (keys) => ({ unblock: keys })),
  },
  {
    name: 'domain delete',
    usage: 'NAME [--workspace ID]',
    summary: 'delete a domain',
    options: own,
    noticed: true,
    run: remove,
  },
  {
    name: 'domain import-key',
    usage: 'NAME FILE [--selector SELECTOR] [--workspace ID]',
    summary: 'sign with an existing RSA key (PEM), so that published DNS stays as it is',
    options: { ...own, selector: 'string' },
    noticed: true,
    run: importKey,
  },
]

async function add(call: Call): Promise<Answer> {
  const it = await chosen(call)
  const wanted = {
    ...it,
    forced: flag(call.options, 'force'),
    inbound: flag(call.options, 'inbound'),
    now: call.clock(),
    actor: operator,
  }
  await registerDomain(it.database, wanted, false)
  return shown(call, it)
}

async function list(call: Call): Promise<Answer> {
  atMost(call.words, 0)
  const { read } = await call.database()
  const rows = domainsOfWorkspace(read, { workspaceId: chosenWorkspace(read, call.options) })
  const data = rows.map((row) => domainResource(row, call.config.service.zone))
  return {
    json: { data },
    lines: table(
      ['DOMAIN', 'STATUS', 'CREATED'],
      data.map((row) => [row.domain, row.status, row.created_at]),
    ),
  }
}

async function show(call: Call): Promise<Answer> {
  return shown(call, await chosen(call))
}

async function inbound(call: Call): Promise<Answer> {
  const wanted = call.words.length === 0 ? '' : word(call.words, 1, 'on or off')
  if (call.words.length > 1 && wanted !== 'on' && wanted !== 'off') {
    throw new UsageError(`found ${wanted}; allowed: on, off`)
  }
  const it = await chosen(call, 2)
  return change(call, it, { inbound: wanted === 'on' })
}

async function changeBlocked(call: Call, changeTo: (keys: readonly string[]) => DomainChange): Promise<Answer> {
  const [, ...addresses] = call.words
  if (call.words.length > 0) word(call.words, 1, 'ADDRESS')
  const it = await chosen(call, Number.POSITIVE_INFINITY)
  return change(call, it, changeTo(addresses.map((address) => blockableKey(address, it.domain, 'address'))))
}

async function change(call: Call, it: Chosen, wanted: DomainChange): Promise<Answer> {
  await changeDomain(it.database, found(it), wanted, { actor: operator, now: call.clock() })
  return shown(call, it)
}

async function remove(call: Call): Promise<Answer> {
  const it = await chosen(call)
  const row = found(it)
  const at = call.clock()
  await deleteSendingDomain(it.database, row, operator, at)
  const count = await failDomain(it.database, { ...it, at })
  return {
    json: { deleted: true, id: row.id },
    lines: [`deleted ${it.domain}`, ...(count > 0 ? [`${count} queued messages of it have failed`] : [])],
  }
}

function act(row: SendingDomain, action: Action, at: number, details: Readonly<Record<string, unknown>>): Write {
  const { id, workspace_id: workspaceId, domain } = row
  return recordAct({ workspaceId, actor: operator, action, target: id, at, details: { domain, ...details } })
}

async function importKey(call: Call): Promise<Answer> {
  const file = call.words.length === 0 ? '' : word(call.words, 1, 'FILE')
  const it = await chosen(call, 2)
  const row = found(it)
  const pem = await readFile(file, 'utf8').catch((error: Error) => {
    throw new CommandFailed(`the key cannot be read: ${error.message}`)
  })
  const selector = call.options['selector'] === undefined ? 'dkim1' : required(call.options, 'selector')
  const now = call.clock()
  const writes = importedKey({ ...it, selector, now }, pem)
  await it.database.commit([...writes, act(row, 'domain.key_imported', now, { selector })])
  return shown(call, it)
}

/** `domain add|list|show|inbound|block|unblock|delete|import-key`: the domains from which a workspace sends, and where it receives. */
import { createReadStream } from 'node:fs'
import { text } from 'node:stream/consumers'
import { errorMessageOf } from '../../../base/platform/errors.js'
import type { Write } from '../../../base/storage/db/write.js'
import { failMailOfDomain } from '../../../records/messages/queue/fail-domain.js'
import { type AuditAction, operatorActor, recordAuditEntry } from '../../../workspaces/accounts/access/audit-log.js'
import { changeDomain, type DomainChange } from '../../../workspaces/domains/change-domain.js'
import { deleteSendingDomain } from '../../../workspaces/domains/delete-domain.js'
import { toDomainResource } from '../../../workspaces/domains/domain-resource.js'
import { installImportedKey } from '../../../workspaces/domains/new-domain.js'
import { registerDomain } from '../../../workspaces/domains/register-domain.js'
import { parseMailDomain } from '../../../workspaces/domains/rows/registrable-name.js'
import { domainsOfWorkspace, type SendingDomain } from '../../../workspaces/domains/rows/sending-domains.js'
import { parseBlockedLocalPart } from '../../../workspaces/domains/verification/blocked-addresses.js'
import {
  type Answer,
  type Call,
  CommandFailed,
  flagOption,
  refuseExtraWords,
  requiredOption,
  requiredWord,
  UsageError,
} from '../command/command.js'
import {
  type ChosenDomain,
  chooseDomain,
  formatInbound,
  formatRecordsOf,
  readDomain,
  requireDomain,
  type ShownDomain,
  showDomain,
} from '../command/domain-choice.js'
import { findNoDomain } from '../command/domain-existence.js'
import { explainClosedFile } from '../command/process-user.js'
import { chooseFormat, formatZoneFile } from '../command/record-lines.js'
import { quoteForShell } from '../command/shell-word.js'
import { formatTable } from '../command/table.js'
import { chooseWorkspace } from '../command/workspace-choice.js'

export async function add(call: Call): Promise<Answer> {
  const format = chooseFormat(call.options)
  const domain = parseMailDomain(requiredWord(call.words, 0, 'NAME'))
  const it = await chooseDomain(call)
  const forced = flagOption(call.options, 'force')
  const newDomain = {
    ...it,
    forced,
    inbound: flagOption(call.options, 'inbound'),
    now: call.clock(),
    actor: operatorActor,
  }
  await registerDomain(it.database, newDomain, false)
  const shown = await readDomain(call, it)
  const json = { ...shown.domain, records: shown.records }
  const warnings = forced ? [] : await findNoDomain(call, domain)
  switch (format) {
    case 'json':
      return { json, lines: [JSON.stringify(json)], isDocument: true, warnings }
    case 'zone':
      return { json, lines: formatZoneFile(shown.records), isDocument: true, warnings }
    case 'text':
      return { json, lines: describeAdded(shown), warnings }
  }
}

function describeAdded(shown: ShownDomain): readonly string[] {
  const { domain } = shown
  const next =
    domain.status === 'verified'
      ? []
      : [
          `When DNS has the required records: posthorn domain verify ${domain.domain}`,
          `If CNAME records are not possible there, "posthorn domain show ${domain.domain}" has others.`,
        ]
  return [`${domain.domain}  ${domain.status}`, '', ...formatRecordsOf(shown), ...next, formatInbound(domain)]
}

export async function list(call: Call): Promise<Answer> {
  refuseExtraWords(call.words, 0)
  const { read } = await call.database()
  const rows = await domainsOfWorkspace(read, { workspaceId: await chooseWorkspace(read, call.options) })
  const data = rows.map((row) => toDomainResource(row, call.config.service.zone))
  return {
    json: { data },
    lines: formatTable(
      ['DOMAIN', 'STATUS', 'CREATED'],
      data.map((row) => [row.domain, row.status, row.created_at]),
    ),
  }
}

export async function show(call: Call): Promise<Answer> {
  return showDomain(call, await chooseDomain(call))
}

export async function setInbound(call: Call): Promise<Answer> {
  const state = call.words.length === 0 ? '' : requiredWord(call.words, 1, 'on or off')
  if (call.words.length > 1 && state !== 'on' && state !== 'off') {
    throw new UsageError(`found ${state}; allowed: on, off`)
  }
  const it = await chooseDomain(call, 2)
  return applyChange(call, it, { inbound: state === 'on' })
}

export function block(call: Call): Promise<Answer> {
  return changeBlocked(call, (keys) => ({ block: keys }))
}

export function unblock(call: Call): Promise<Answer> {
  return changeBlocked(call, (keys) => ({ unblock: keys }))
}

async function changeBlocked(call: Call, changeTo: (keys: readonly string[]) => DomainChange): Promise<Answer> {
  const [, ...addresses] = call.words
  if (call.words.length > 0) requiredWord(call.words, 1, 'ADDRESS')
  const it = await chooseDomain(call, Number.POSITIVE_INFINITY)
  return applyChange(
    call,
    it,
    changeTo(addresses.map((address) => parseBlockedLocalPart(address, it.domain, 'address'))),
  )
}

async function applyChange(call: Call, it: ChosenDomain, change: DomainChange): Promise<Answer> {
  await changeDomain(it.database, await requireDomain(it), change, { actor: operatorActor, now: call.clock() })
  return showDomain(call, it)
}

export async function remove(call: Call): Promise<Answer> {
  const it = await chooseDomain(call)
  const row = await requireDomain(it)
  if (row.status === 'verified' && !flagOption(call.options, 'yes')) {
    const lost = 'its DKIM keys are lost and its queued mail fails'
    throw new CommandFailed(`${it.domain} is verified: ${lost}; add --yes to delete it`)
  }
  const at = call.clock()
  await deleteSendingDomain(it.database, row, operatorActor, at)
  const count = await failMailOfDomain(it.database, { ...it, at })
  return {
    json: { deleted: true, id: row.id },
    lines: [`deleted ${it.domain}`, ...(count > 0 ? [`${count} queued messages of it have failed`] : [])],
  }
}

function recordDomainAct(
  row: SendingDomain,
  action: AuditAction,
  at: number,
  details: Readonly<Record<string, unknown>>,
): Write {
  const { id, workspace_id: workspaceId, domain } = row
  return recordAuditEntry({
    workspaceId,
    actor: operatorActor,
    action,
    target: id,
    at,
    details: { domain, ...details },
  })
}

/** `-` is standard input. */
async function readKey({ openInput }: Call, file: string, domain: string): Promise<string> {
  try {
    return await text(file === '-' ? openInput() : createReadStream(file))
  } catch (error) {
    const explained = explainClosedFile(error, `posthorn domain import-key ${domain} - < ${quoteForShell(file)}`)
    throw new CommandFailed(`the key cannot be read: ${errorMessageOf(explained)}`)
  }
}

export async function importKey(call: Call): Promise<Answer> {
  const file = call.words.length === 0 ? '' : requiredWord(call.words, 1, 'FILE')
  const it = await chooseDomain(call, 2)
  const row = await requireDomain(it)
  const pem = await readKey(call, file, it.domain)
  const selector = call.options['selector'] === undefined ? 'dkim1' : requiredOption(call.options, 'selector')
  const now = call.clock()
  const writes = installImportedKey({ ...it, selector, now }, pem)
  await it.database.commit([...writes, recordDomainAct(row, 'domain.key_imported', now, { selector })])
  return showDomain(call, it)
}

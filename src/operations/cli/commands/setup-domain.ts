/**
 * The first domain of a workspace: registers it, prints all DNS records of the server and of the domain, waits until DNS
 * has them, verifies the domain, and sends the first message to the owner. Each part that is done is not done again.
 */
import { type Address, type DomainName, parseAddress } from '../../../base/mail/address.js'
import { isDataFolderHeld } from '../../../base/storage/db/data-lock.js'
import type { Store } from '../../../base/storage/db/database.js'
import { SERVICE_WORKSPACE } from '../../../base/storage/tables/tables.js'
import { operatorActor } from '../../../workspaces/accounts/access/audit-log.js'
import { dkimKeysOf } from '../../../workspaces/domains/dkim/signing-keys.js'
import { openDomainResolver } from '../../../workspaces/domains/domain-resolver.js'
import { readDomainDetails } from '../../../workspaces/domains/domain-resource.js'
import { findMissingRecords, type MissingRecord } from '../../../workspaces/domains/missing-records.js'
import { requireClaimable } from '../../../workspaces/domains/new-domain.js'
import { registerDomain } from '../../../workspaces/domains/register-domain.js'
import { domainByName, type SendingDomain } from '../../../workspaces/domains/rows/sending-domains.js'
import { ensureServiceIdentity } from '../../../workspaces/domains/service-identity.js'
import { verifyDomain } from '../../../workspaces/domains/verify-domain.js'
import {
  listDomainRecords,
  listServiceRecords,
  type PublishedRecord,
} from '../../../workspaces/domains/zone/publication.js'
import { isInside, toZoneSettings } from '../../../workspaces/domains/zone/zone-records.js'
import { type Answer, type Call, CommandFailed, flagOption } from '../command/command.js'
import { findNoDomain } from '../command/domain-existence.js'
import { formatForPeople, formatMissing, formatZoneFile, type RecordFormat } from '../command/record-lines.js'
import { waitForRecords } from '../command/record-wait.js'
import { quoteForShell } from '../command/shell-word.js'
import { withDns } from './domain-dns-commands.js'
import { sendTestMessage } from './email-commands.js'

interface Request {
  /** The name of the workspace. */
  readonly name: string
  /** The address of the owner. */
  readonly email: Address
  readonly domain: DomainName
}

type Outcome = Pick<Answer, 'json' | 'lines' | 'failed'>

export class DomainSetup {
  constructor(
    private readonly call: Call,
    private readonly database: Store,
    private readonly request: Request,
  ) {}

  /** Throws a Refusal or `CommandFailed` if the domain cannot be registered. A null `workspaceId` has yet to be made. */
  async requirePossible(workspaceId: string | null): Promise<void> {
    const { domain } = this.request
    const { zone, nameservers } = toZoneSettings(this.call.config)
    if (nameservers.length > 0 && isInside(domain, zone)) {
      throw new CommandFailed(
        `${domain} is in ${zone}, which this server answers for: its records can be set by no one. Choose another domain, ` +
          'or take another name for service.zone',
      )
    }
    if (workspaceId === null || (await this.findRow(workspaceId)) === undefined) {
      await requireClaimable(this.database.read, { workspaceId: workspaceId ?? '', domain })
    }
  }

  /** `about` is what the answer has of the workspace. */
  async run(workspaceId: string, format: RecordFormat, about: unknown): Promise<Answer> {
    const { call } = this
    const row = await this.register(workspaceId)
    if (row.status !== 'verified') {
      for (const text of await findNoDomain(call, this.request.domain)) call.printError(`posthorn: ${text}\n`)
    }
    const records = await this.listRecords(row)
    this.show(format, records)
    const isWaiting = flagOption(call.options, 'wait')
    const outcome = isWaiting ? await this.finish(row, records) : { json: null, lines: this.describeNext(row) }
    const domain = await readDomainDetails(
      this.database.read,
      (await this.findRow(workspaceId)) ?? row,
      call.config.service,
    )
    const json = { ...(about as object), domain, records, first_message: outcome.json }
    if (format === 'text') return { ...outcome, json }
    if (format === 'zone') for (const line of outcome.lines) call.printError(`${line}\n`)
    return { ...outcome, json, lines: format === 'json' ? [JSON.stringify(json)] : [], isDocument: true }
  }

  private async findRow(workspaceId: string): Promise<SendingDomain | undefined> {
    return (await domainByName(this.database.read, { workspaceId, domain: this.request.domain }))[0]
  }

  private async register(workspaceId: string): Promise<SendingDomain> {
    const { domain } = this.request
    const newDomain = {
      workspaceId,
      domain,
      forced: false,
      inbound: false,
      now: this.call.clock(),
      actor: operatorActor,
    }
    return (await this.findRow(workspaceId)) ?? registerDomain(this.database, newDomain, false)
  }

  private async listRecords(row: SendingDomain): Promise<readonly PublishedRecord[]> {
    const { config, clock } = this.call
    const { read } = this.database
    const settings = toZoneSettings(config)
    // Before the first start, the service has no key yet.
    await ensureServiceIdentity(this.database, config.service.mail_from, clock())
    const serviceKeys = await dkimKeysOf(read, { workspaceId: SERVICE_WORKSPACE, domain: settings.mailDomain })
    const keys = await dkimKeysOf(read, { workspaceId: row.workspace_id, domain: row.domain })
    const service = listServiceRecords(settings, serviceKeys)
    const own = listDomainRecords(settings, row, keys)
    const isListed = ({ type, name }: PublishedRecord): boolean =>
      service.some((one) => one.type === type && one.name === name)
    // A domain that is the name of the server has some of its suggestions already.
    return [...service, ...own.filter((record) => record.required || !isListed(record))]
  }

  private show(format: RecordFormat, records: readonly PublishedRecord[]): void {
    const { call } = this
    if (format === 'text') call.printLines(['DNS records to set, at once:', '', ...formatForPeople(records)])
    if (format === 'zone') call.printLines(formatZoneFile(records))
    if (call.config.service.public_addresses.length === 0) {
      call.printError(
        'posthorn: service.public_addresses is empty: the list lacks the addresses of this server, their PTR records and SPF\n',
      )
    }
  }

  private describeNext({ status }: SendingDomain): readonly string[] {
    const next =
      status === 'verified'
        ? `${this.request.domain} is verified. This sends a message to ${this.request.email}:`
        : 'This waits until DNS has the required records, verifies the domain and sends a message to the owner:'
    return [next, `  ${this.commandToGoOn()}`]
  }

  private commandToGoOn(): string {
    const { name, email, domain } = this.request
    const words = ['--workspace', name, '--email', email, '--domain', domain].map(quoteForShell)
    return `posthorn setup ${words.join(' ')} --wait`
  }

  private async finish(row: SendingDomain, records: readonly PublishedRecord[]): Promise<Outcome> {
    const { call } = this
    const isServed = isDataFolderHeld(call.config.service.data_dir)
    if (!isServed) call.printError(`posthorn: ${noDaemon}\n`)
    if (row.status !== 'verified') {
      const missing = await this.waitUntilVerified(row, records)
      if (missing.length > 0) return { json: null, lines: this.describeMissing(missing, records), failed: true }
    }
    const { domain, email } = this.request
    const from = parseAddress(`postmaster@${domain}`)
    const subject = `The first message from ${domain}`
    const sent = await sendTestMessage(call, { from, to: email, subject, text: FIRST_TEXT })
    return { ...sent, lines: [`verified: you can send from ${domain}`, '', ...sent.lines] }
  }

  /** Resolves to the records that are still missing, if the wait ended before all were there. */
  private async waitUntilVerified(
    row: SendingDomain,
    records: readonly PublishedRecord[],
  ): Promise<readonly MissingRecord[]> {
    const { config, clock, printError } = this.call
    const { read } = this.database
    const names = config.service
    const total = records.filter(({ required }) => required).length
    const missing = await waitForRecords({
      find: (signal) =>
        findMissingRecords({ read, names, resolver: openDomainResolver(config, clock, signal) }, row, records),
      onChange: (found) => printError(formatProgress(found, total)),
    })
    if (missing.length > 0) return missing
    await withDns(this.call, this.database, (deps) => verifyDomain(deps, row, operatorActor, clock()))
    return []
  }

  private describeMissing(missing: readonly MissingRecord[], records: readonly PublishedRecord[]): readonly string[] {
    const { domain, email } = this.request
    const total = records.filter(({ required }) => required).length
    return [
      ...missing.map(formatMissing),
      '',
      'Go on when DNS has them:',
      `  ${this.commandToGoOn()}`,
      'or with the domain alone, whose mail other servers may refuse until then:',
      `  posthorn domain verify ${domain}`,
      `  posthorn send --from postmaster@${domain} --to ${quoteForShell(email)}`,
      '',
      `not done: ${formatCount(missing.length, total)} missing or wrong in DNS`,
    ]
  }
}

const FIRST_TEXT = 'This is the first message of your mail server: "posthorn setup" sent it, and mail gets through.\n'

const noDaemon =
  'no daemon runs here, which answers for a delegated zone and delivers the message: systemctl enable --now posthorn'

function formatCount(missing: number, total: number): string {
  return `${missing} of ${total} required records ${missing === 1 ? 'is' : 'are'}`
}

function formatProgress(missing: readonly MissingRecord[], total: number): string {
  const head = `posthorn: ${formatCount(missing.length, total)} missing or wrong in DNS; looking again for up to an hour, Ctrl-C ends it`
  return [head, ...missing.map(formatMissing), ''].join('\n')
}

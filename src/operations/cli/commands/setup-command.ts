/**
 * `setup`: the first workspace with its owner and key, and with `--domain` its sending domain.
 *
 * It may be repeated with the same workspace, owner and domain, and goes on where it was. The key is printed when it is
 * made and never again, before anything that takes long or may fail.
 */
import { type Address, parseAddress } from '../../../base/mail/address.js'
import type { Read } from '../../../base/storage/db/prepared.js'
import { userById } from '../../../workspaces/accounts/people/users.js'
import { allWorkspaces, ownerOf } from '../../../workspaces/accounts/workspace/workspaces.js'
import { parseMailDomain } from '../../../workspaces/domains/rows/registrable-name.js'
import {
  type Answer,
  type Call,
  CommandFailed,
  flagOption,
  refuseExtraWords,
  requiredOption,
  textOption,
  UsageError,
} from '../command/command.js'
import { chooseFormat, type RecordFormat } from '../command/record-lines.js'
import { DomainSetup } from './setup-domain.js'
import { createWorkspace } from './workspace-commands.js'

export async function setUp(call: Call): Promise<Answer> {
  const { words, options } = call
  refuseExtraWords(words, 0)
  const name = requiredOption(options, 'workspace')
  const email = parseAddress(requiredOption(options, 'email'))
  const format = chooseFormat(options)
  const given = textOption(options, 'domain')
  if (given === undefined && (flagOption(options, 'wait') || options['format'] !== undefined)) {
    throw new UsageError('--wait and --format need --domain')
  }
  const domain = given === undefined ? null : parseMailDomain(given)
  const database = await call.database()
  const found = await findWorkspace(database.read, name, email)
  const isOther = found === null && (await allWorkspaces(database.read, {})).length > 0
  if (isOther || (found !== null && domain === null)) throw await buildRefusal(database.read, name, email)
  if (domain === null) return (await createWorkspace(call, name)).answer
  const setup = new DomainSetup(call, database, { name, email, domain })
  // Whatever can be refused is refused before the key is made.
  await setup.requirePossible(found?.workspaceId ?? null)
  const { workspaceId, answer } = found ?? (await createWorkspace(call, name))
  showWorkspace(call, format, answer)
  return setup.run(workspaceId, format, answer.json)
}

/** A zone file on standard output has nothing else, least of all a key. With `--json` the answer has it. */
function showWorkspace(call: Call, format: RecordFormat, { lines }: Answer): void {
  if (format === 'text') call.printLines([...lines, ''])
  if (format === 'zone') for (const line of lines) call.printError(`${line}\n`)
}

interface FoundWorkspace {
  readonly workspaceId: string
  readonly answer: Answer
}

/** The workspace of an earlier run, by its name and owner. */
async function findWorkspace(read: Read, name: string, email: Address): Promise<FoundWorkspace | null> {
  for (const { id: workspaceId } of (await allWorkspaces(read, {})).filter((one) => one.name === name)) {
    const { userId, address } = await findOwner(read, workspaceId)
    if (address.toLowerCase() !== email.toLowerCase()) continue
    const lines = [`workspace  ${workspaceId}  ${name}, made before; its key was printed then`]
    const json = { workspace_id: workspaceId, user_id: userId, api_key: null, key_prefix: null, set_password_url: null }
    return { workspaceId, answer: { json, lines } }
  }
  return null
}

async function findOwner(
  read: Read,
  workspaceId: string,
): Promise<{ readonly userId: string; readonly address: string }> {
  const userId = (await ownerOf(read, { workspaceId }))[0]?.user_id ?? ''
  return { userId, address: (await userById(read, { id: userId }))[0]?.email ?? '' }
}

async function buildRefusal(read: Read, name: string, email: Address): Promise<CommandFailed> {
  if ((await findWorkspace(read, name, email)) !== null) {
    return new CommandFailed(
      `there is a workspace already, ${name} of ${email}, and its key was printed then: --domain DOMAIN goes on with a ` +
        'domain of it, "posthorn key create --name NAME" makes another key',
    )
  }
  const names = await Promise.all(
    (await allWorkspaces(read, {})).map(async (one) => `${one.name} of ${(await findOwner(read, one.id)).address}`),
  )
  return new CommandFailed(
    `there is a workspace already (${names.join(', ')}): "posthorn workspace create" makes another; to go on with one, ` +
      'give its name as --workspace and the address of its owner as --email',
  )
}

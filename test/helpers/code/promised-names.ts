/**
 * The names that stay within a major version (docs/upgrading.md): `scripts/promises` notes those of a release, and later
 * versions must have them.
 */
import { readFileSync } from 'node:fs'
import { standaloneCommands } from '../../../src/operations/cli/command/help.js'
import { databaseCommands } from '../../../src/operations/cli/command-list/all-commands.js'
import { listSettings } from '../config-settings.js'

/** The first line is the release. Each other line is a group and a name; the name is empty if the group has none. */
export const PROMISED_FILE = 'test/fixtures/promised-names.txt'

/** By what they are names of, such as `settings` or `POST /v1/emails: request`. */
type PromisedNames = Readonly<Record<string, readonly string[]>>

interface Promised {
  /** The release that noted them last; empty before the first one. */
  readonly release: string
  readonly names: PromisedNames
}

interface Schema {
  readonly $ref?: string
  readonly properties?: Readonly<Record<string, Schema>>
  readonly items?: Schema
  readonly allOf?: readonly Schema[]
  readonly anyOf?: readonly Schema[]
  readonly oneOf?: readonly Schema[]
  readonly enum?: readonly unknown[]
  readonly required?: readonly string[]
}

type Wanted = readonly (Schema | undefined)[]
type Schemas = Readonly<Record<string, Schema>>
type Content = Readonly<Record<string, { readonly schema?: Schema }>>

interface Operation {
  readonly parameters?: readonly { readonly name: string; readonly required?: boolean }[]
  readonly requestBody?: { readonly content: Content }
  readonly responses: Readonly<Record<string, { readonly content?: Content }>>
}

type Operations = Readonly<Record<string, Readonly<Record<string, Operation>>>>

/** What is read of an OpenAPI document. */
export interface ApiDocument {
  readonly paths: Operations
  readonly webhooks: Operations
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> }
}

/** The end of the name of a group that may lose names and gain none: what clients must send. */
const REQUIRED = ': required'
/** The end of the name of a group of fields that clients send. */
const REQUEST = ': request'

export function readPromised(): Promised {
  return parsePromised(readFileSync(PROMISED_FILE, 'utf8'))
}

export function parsePromised(text: string): Promised {
  const [release = '', ...lines] = text.split('\n')
  const names: Record<string, string[]> = {}
  for (const line of lines.filter((each) => each !== '')) {
    const [group = '', name = ''] = line.split('\t')
    names[group] = [...(names[group] ?? []), ...(name === '' ? [] : [name])]
  }
  return { release, names }
}

export function formatPromised({ release, names }: Promised): string {
  const lines = Object.entries(names).flatMap(([group, all]) =>
    (all.length === 0 ? [''] : all).map((name) => `${group}\t${name}`),
  )
  return `${[release, ...lines].join('\n')}\n`
}

export function listNames(document: ApiDocument): PromisedNames {
  const { schemas } = document.components
  return {
    settings: listSettings(),
    commands: [...standaloneCommands, ...databaseCommands].flatMap(({ name, options }) => [
      name,
      ...Object.keys(options).map((option) => `${name} --${option}`),
    ]),
    metrics: rowsOf('docs/monitoring.md', /^\| `((?:posthorn|process|nodejs)_\w+)` \|/gm),
    'log lines': rowsOf('docs/logs.md', /^\| `([^`]+)` \| (?:(?:debug|info|warn|error|fatal)(?:, )?)+ \|/gm),
    'codes of errors': schemas['ErrorCode']?.enum?.map(String) ?? [],
    ...namesOf(document.paths, schemas),
    ...namesOfWebhooks(document.webhooks, schemas),
  }
}

function rowsOf(page: string, row: RegExp): readonly string[] {
  return [...new Set([...readFileSync(page, 'utf8').matchAll(row)].map(([, name = '']) => name))]
}

function namesOf(operations: Operations, schemas: Schemas): PromisedNames {
  const entries = Object.entries(operations).flatMap(([path, methods]) =>
    Object.entries(methods).flatMap(([method, { parameters = [], requestBody, responses }]) => {
      const title = `${method.toUpperCase()} ${path}`
      const request = schemasOf(requestBody?.content)
      const answers = Object.entries(responses)
        .filter(([status]) => status.startsWith('2'))
        .flatMap(([, { content }]) => schemasOf(content))
      const needed = parameters.filter(({ required }) => required === true).map(({ name }) => name)
      return [
        [`${title}: parameters`, parameters.map(({ name }) => name)],
        [`${title}${REQUEST}`, fieldsOf(request, schemas)],
        [`${title}: answer`, fieldsOf(answers, schemas)],
        [`${title}${REQUIRED}`, [...new Set([...needed, ...requiredOf(request, schemas)])]],
      ] as const
    }),
  )
  return Object.fromEntries(entries)
}

/** Posthorn sends these requests, so a field that is always there must stay so, and more may come. */
function namesOfWebhooks(webhooks: Operations, schemas: Schemas): PromisedNames {
  const entries = Object.entries(webhooks).flatMap(([type, methods]) =>
    Object.values(methods).flatMap(({ requestBody }) => {
      const payload = schemasOf(requestBody?.content)
      return [
        [`event ${type}: fields`, fieldsOf(payload, schemas)],
        [`event ${type}: always there`, requiredOf(payload, schemas)],
      ] as const
    }),
  )
  return Object.fromEntries(entries)
}

function schemasOf(content: Content = {}): Wanted {
  return Object.values(content).map(({ schema }) => schema)
}

function resolve(schema: Schema | undefined, schemas: Schemas): Schema {
  const name = schema?.$ref?.split('/').at(-1)
  return (name === undefined ? schema : schemas[name]) ?? {}
}

/** Names of fields with those that they are in: `to`, `attachments.filename`. */
function fieldsOf(wanted: Wanted, schemas: Schemas): readonly string[] {
  return walk(wanted, {
    schemas,
    namesIn: ({ properties = {} }) => Object.keys(properties),
    variantsOf: ({ allOf = [], anyOf = [], oneOf = [] }) => [...allOf, ...anyOf, ...oneOf],
  })
}

/** Names, as `fieldsOf` writes them, of fields that must be there where the object is that they are in. */
function requiredOf(wanted: Wanted, schemas: Schemas): readonly string[] {
  return walk(wanted, {
    schemas,
    namesIn: ({ required = [] }) => required,
    variantsOf: ({ allOf = [] }) => allOf,
  })
}

interface Walk {
  readonly schemas: Schemas
  readonly namesIn: (schema: Schema) => readonly string[]
  /** Schemas of the same value that are looked at too. */
  readonly variantsOf: (schema: Schema) => readonly Schema[]
}

/** A schema within itself counts once. */
function walk(wanted: Wanted, how: Walk, above = '', seen: ReadonlySet<Schema> = new Set()): readonly string[] {
  const names = wanted.flatMap((one) => {
    const schema = resolve(one, how.schemas)
    if (seen.has(schema)) return []
    const inside = new Set([...seen, schema])
    const { properties = {}, items } = schema
    return [
      ...how.namesIn(schema).map((name) => `${above}${name}`),
      ...walk([...how.variantsOf(schema), ...(items === undefined ? [] : [items])], how, above, inside),
      ...Object.entries(properties).flatMap(([name, field]) => walk([field], how, `${above}${name}.`, inside)),
    ]
  })
  return [...new Set(names)]
}

/** A sentence for each name that is gone, and for each field that an operation did not ask for. */
export function findBroken(promised: Promised, now: PromisedNames): readonly string[] {
  return Object.entries(promised.names).flatMap(([group, then]) => {
    const present = now[group] ?? []
    if (group.endsWith(REQUIRED)) {
      const fields = promised.names[group.replace(REQUIRED, REQUEST)] ?? []
      const isAsked = (name: string): boolean => !name.includes('.') || fields.includes(name.replace(/\.[^.]*$/, ''))
      const added = present.filter((name) => !then.includes(name) && isAsked(name))
      return added.map((name) => `${group}: ${name} is required, and was not in ${promised.release}: ${cure}`)
    }
    const gone = then.filter((name) => !present.includes(name))
    return gone.map((name) => `${group}: ${name} is gone, and was in ${promised.release}: ${cure}`)
  })
}

const cure = 'a major version keeps it (docs/upgrading.md), so undo the change or begin a new major version'

/** What a release notes: its names, among which are all that the release before it in the same major version had. */
export function noteRelease(before: Promised, release: string, now: PromisedNames): Promised {
  const isSameMajor = before.release.split('.')[0] === release.split('.')[0]
  const broken = isSameMajor ? findBroken(before, now) : []
  if (broken.length > 0) throw new Error(broken.join('\n'))
  const kept = Object.fromEntries(Object.entries(now).filter(([, names]) => names.length > 0))
  const required = Object.fromEntries(Object.entries(now).filter(([group]) => group.endsWith(REQUIRED)))
  return { release, names: { ...kept, ...required } }
}

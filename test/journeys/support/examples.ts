/** Examples in documents, to be run as a reader would paste them. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** The fenced blocks of a document in that language; '' for those without one. */
export function readExamples(file: string, language: string): readonly string[] {
  return [...readFileSync(file, 'utf8').matchAll(/^```(\w*)\n(.*?)^```$/gms)].flatMap(([, named, text = '']) =>
    named === language ? [text] : [],
  )
}

interface ShownFile {
  readonly path: string
  readonly text: string
  /** It is added to the file that is there. */
  readonly isAddition: boolean
}

/** The files of a page: blocks below a line that ends with the name of a file between backquotes, and what it is about. */
export function readShownFiles(page: string): readonly ShownFile[] {
  const file = /^([^\n]*?)`([\w./-]*\.\w+)`[^\n]*:\n\n```\w+\n(.*?)^```$/gms
  const blocks = readFileSync(page, 'utf8').matchAll(file)
  return [...blocks].map(([, before = '', path = '', text = '']) => ({
    path,
    text,
    isAddition: /at the end of $/i.test(before),
  }))
}

/** The ports of the documents are 1000 above the well-known ones. */
export function withPorts(text: string, base: number): string {
  return text.replaceAll(/\b1(587|465|443|026)\b/g, (_, port: string) => String(base + Number(port)))
}

/** Pages whose commands speak to the quickstart, in the order of their names. */
export function pagesWithCommands(): readonly string[] {
  const pages = ['README.md', ...readdirSync('docs').map((name) => join('docs', name))]
  return pages.filter((page) => page.endsWith('.md') && commandsOf(page).length > 0)
}

/** The blocks of a page that a reader of the quickstart pastes. */
export function commandsOf(page: string): readonly string[] {
  return readExamples(page, '').filter((text) => /\blocalhost:1\d{3}\b/.test(text))
}

/** The ids that answers have, by the resource of the request. `ID` in an example stands for one of them. */
export class ExampleIds {
  private readonly ids = new Map<string, string>()

  /** The block with ids in place of `ID`. */
  fill(text: string): string {
    return text
      .replaceAll(/\/v1\/(\w+)\/ID\b/g, (_, resource: string) => `/v1/${resource}/${this.require(resource)}`)
      .replaceAll(/"(\w+)_id": "ID"/g, (_, name: string) => `"${name}_id": "${this.require(`${name}s`)}"`)
  }

  /** `answer` is that of the last request of the block. */
  note(text: string, answer: string): void {
    const resource = /.*\/v1\/(\w+)['"?\s\\]/s.exec(text)?.[1]
    const id = /^\{(?:"object":"list",)?(?:"data":\[\{)?(?:"object":"\w+",)?"id":"([^"]+)"/m.exec(answer)?.[1]
    if (resource !== undefined && id !== undefined) this.ids.set(resource, id)
  }

  private require(resource: string): string {
    const id = this.ids.get(resource)
    if (id === undefined) throw new Error(`no example before has the id of one of ${resource}`)
    return id
  }
}

/** Divides a block into its requests, so that each sees the ids of those before it. */
export function requestsOf(text: string): readonly string[] {
  const requests: string[] = []
  for (const part of text.split(/(?<=^|\n)(?=curl |printf |swaks )/)) {
    const last = requests.at(-1)
    // Variables are set in the same shell.
    if (last !== undefined && /^\w+=[^\n]*\n$/.test(last)) requests[requests.length - 1] = last + part
    else requests.push(part)
  }
  return requests
}

/** Examples in documents, to be run as a reader would paste them. */
import { readFileSync } from 'node:fs'

/** The fenced blocks of a document in that language; '' for those without one. */
export function readExamples(file: string, language: string): readonly string[] {
  return [...readFileSync(file, 'utf8').matchAll(/^```(\w*)\n(.*?)^```$/gms)].flatMap(([, named, text = '']) =>
    named === language ? [text] : [],
  )
}

/** The ports of the documents are 1000 above the well-known ones. */
export function withPorts(text: string, base: number): string {
  return text.replaceAll(/\b1(587|465|443)\b/g, (_, port: string) => String(base + Number(port)))
}

/**
 * Compiles a document in blocks to the HTML of a mail: nested tables with inline styles, and conditional comments for
 * Outlook. It runs on a thread (`outbound/sending/compose-thread`), because a document with many blocks takes 100 ms.
 */
import { createRequire } from 'node:module'
import { HtmlPlaces } from './html-places.js'
import type { MailBlocks } from './mail-blocks.js'
import { writeMjml } from './write-mjml.js'

type Mrml = typeof import('mrml')

let engine: InstanceType<Mrml['Engine']> | null = null

export function compileBlocks(blocks: MailBlocks): string {
  engine ??= createEngine()
  const places = new HtmlPlaces()
  const result = engine.toHtml(writeMjml(blocks, places))
  if (result.type === 'error') throw new Error(`the MJML of a mail cannot be compiled: ${result.message}`)
  return places.fill(result.content)
}

/** The module compiles a megabyte of WebAssembly when it is loaded, so only a thread that needs it loads it. */
function createEngine(): InstanceType<Mrml['Engine']> {
  const { Engine }: Mrml = createRequire(import.meta.url)('mrml')
  const made = new Engine()
  // Without fonts, the mail loads none from elsewhere.
  made.setRenderOptions({ disableComments: false, socialIconOrigin: null, fonts: {} })
  return made
}

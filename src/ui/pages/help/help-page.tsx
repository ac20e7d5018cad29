/** Shows a page of the documentation. The address names its page, and after `#` a heading in it. */

import { urls } from 'virtual:help-pages'
import { type ComponentChildren, createElement, type VNode } from 'preact'
import { useEffect } from 'preact/hooks'
import { Link } from 'wouter-preact'
import { toNetworkError } from '../../api/api-error.ts'
import { sessionApi, unwrap } from '../../api/client.ts'
import { useLoad } from '../../api/use-load.ts'
import { Loaded } from '../../components/loaded.tsx'
import { NotFoundPage } from '../../components/not-found-page.tsx'
import { Page } from '../../components/page.tsx'
import type { PageProps } from '../../components/page-route.ts'
import { fillSample } from './fill-sample.ts'
import './help.css'

/** A text, or an element with its attributes and what it contains. */
type HelpNode = string | readonly [tag: string, attributes: HelpAttributes, nodes: readonly HelpNode[]]

interface HelpAttributes {
  readonly id?: string
  /** An address outside. */
  readonly href?: string
  /** The name of a page, and of a heading in it. */
  readonly page?: string
  readonly anchor?: string
}

interface HelpText {
  readonly title: string
  readonly body: readonly HelpNode[]
}

const START = 'README'

export function HelpPage({ params: { folder, name = START } }: PageProps): VNode {
  const path = folder === undefined ? name : `${folder}/${name}`
  const url = Object.hasOwn(urls, path) ? urls[path] : undefined
  if (url === undefined) return <NotFoundPage />
  return <HelpContent key={path} url={url} isStart={path === START} />
}

function HelpContent({ url, isStart }: { readonly url: string; readonly isStart: boolean }): VNode {
  const text = useLoad(() => loadText(url), [url])
  const endpoints = useLoad(() => unwrap(sessionApi.GET('/ui/api/endpoints')), [])
  return (
    <Loaded from={text}>
      {({ title, body }) => (
        <Page title={title} {...(isStart ? {} : { up: { href: '/help', label: 'Documentation' } })}>
          <div class="help">{body.map((node, at) => showNode(fillNode(node, endpoints.data), at))}</div>
          <ScrollToAnchor />
        </Page>
      )}
    </Loaded>
  )
}

/** Programs that users copy have the addresses of this server. */
function fillNode(node: HelpNode, endpoints: Parameters<typeof fillSample>[1]): HelpNode {
  if (typeof node === 'string') return node
  const [tag, attributes, nodes] = node
  const fill = (inner: HelpNode): HelpNode =>
    tag === 'pre' && typeof inner === 'string' ? fillSample(inner, endpoints) : fillNode(inner, endpoints)
  return [tag, attributes, nodes.map(fill)]
}

async function loadText(url: string): Promise<HelpText> {
  const response = await fetch(url).catch(() => {
    throw toNetworkError()
  })
  if (!response.ok) throw toNetworkError()
  return response.json()
}

/** Browsers look for the heading when the page is loaded, and at that time it is not there yet. */
function ScrollToAnchor(): null {
  useEffect(() => scrollToAnchor(window.location.hash), [])
  return null
}

function scrollToAnchor(hash: string): void {
  if (hash !== '') document.getElementById(decodeURIComponent(hash.slice(1)))?.scrollIntoView()
}

/** The elements that a page has. A file of the build has no others. */
const elements: ReadonlySet<string> = new Set(
  'p strong em blockquote li code pre h2 h3 h4 h5 ul ol table thead tbody tr th td br'.split(' '),
)

function showNode(node: HelpNode, key: number): ComponentChildren {
  if (typeof node === 'string') return node
  const [tag, attributes, nodes] = node
  const children = nodes.map(showNode)
  if (tag === 'a') return showLink(attributes, children, key)
  if (!elements.has(tag)) return children
  if (tag === 'table') return <HelpTable key={key}>{children}</HelpTable>
  // Long lines scroll, and so they can be reached by keyboard.
  if (tag === 'pre') return createElement('pre', { key, tabIndex: 0 }, children)
  return createElement(tag, { key, id: attributes.id }, children)
}

function HelpTable({ children }: { readonly children: ComponentChildren }): VNode {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a part that scrolls must be reachable by keyboard.
    <div class="help-table" tabIndex={0}>
      <table>{children}</table>
    </div>
  )
}

function showLink({ href, page, anchor }: HelpAttributes, children: ComponentChildren, key: number): VNode {
  if (page === undefined) {
    return (
      <a key={key} href={href} rel="noreferrer" target="_blank">
        {children}
      </a>
    )
  }
  const path = page === START ? '/help' : `/help/${page}`
  const hash = anchor === undefined ? '' : `#${anchor}`
  return (
    <Link key={key} href={`${path}${hash}`} onClick={() => setTimeout(() => scrollToAnchor(hash))}>
      {children}
    </Link>
  )
}

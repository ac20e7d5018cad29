/** A link to a page of the documentation. It opens a new tab, so that nothing that the user has entered is lost. */
import type { ComponentChildren, VNode } from 'preact'
import { useRouter } from 'wouter-preact'

interface HelpLinkProps {
  /** The name of the page, perhaps with a heading: `domains#records`. `README` is the list of all pages. */
  readonly topic: string
  readonly children: ComponentChildren
}

export function HelpLink({ topic, children }: HelpLinkProps): VNode {
  const { base } = useRouter()
  return (
    <a class="help-link" href={`${base}/help${topic === 'README' ? '' : `/${topic}`}`} target="_blank" rel="noreferrer">
      {children}
      <span class="visually-hidden"> (opens a new tab)</span>
    </a>
  )
}

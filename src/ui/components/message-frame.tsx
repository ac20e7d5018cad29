/** The HTML of a message, from an address under /ui/api/frames/: without scripts, remote loads or this page's origin. */
import type { VNode } from 'preact'

interface MessageFrameProps {
  readonly src: string
  /** What the frame shows, for screen readers. */
  readonly title: string
}

export function MessageFrame({ src, title }: MessageFrameProps): VNode {
  return <iframe class="message-frame" src={src} title={title} sandbox="" referrerpolicy="no-referrer" loading="lazy" />
}

// Draws the icon at the sizes that phones want, from the one description that icon.svg has too.
import { deflateSync } from 'node:zlib';

const SIZES = [180, 192, 512];
const GROUND = [0x1d, 0x23, 0x2b];
/** Three lines of a conversation and the prompt below them: x, y, width, in parts of 64; the colour. */
const BARS = [
  { x: 14, y: 17, w: 26, colour: [0x8f, 0xa3, 0xb5] },
  { x: 22, y: 28, w: 28, colour: [0xf0, 0xa8, 0x5a] },
  { x: 14, y: 39, w: 18, colour: [0x8f, 0xa3, 0xb5] },
];
const HEIGHT = 7;

/** How much of a pixel lies in a bar with round ends: 0 to 1. */
function covered({ x, y, w }, px, py, unit) {
  const r = HEIGHT / 2;
  const cx = Math.min(Math.max(px, x + r), x + w - r);
  return Math.min(Math.max((r - Math.hypot(px - cx, py - (y + r))) / unit + 0.5, 0), 1);
}

function png(size) {
  const unit = 64 / size;
  const raw = Buffer.alloc((size * 3 + 1) * size);
  for (let row = 0; row < size; row += 1) {
    for (let column = 0; column < size; column += 1) {
      let colour = GROUND;
      for (const bar of BARS) {
        const part = covered(bar, (column + 0.5) * unit, (row + 0.5) * unit, unit);
        if (part > 0) colour = colour.map((channel, at) => channel + (bar.colour[at] - channel) * part);
      }
      colour.forEach((channel, at) => raw.writeUInt8(Math.round(channel), row * (size * 3 + 1) + 1 + column * 3 + at));
    }
  }
  const header = Buffer.alloc(13);
  header.writeUInt32BE(size, 0);
  header.writeUInt32BE(size, 4);
  header.set([8, 2, 0, 0, 0], 8);
  const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
  return Buffer.concat([signature, chunk('IHDR', header), chunk('IDAT', deflateSync(raw, { level: 9 })), chunk('IEND', Buffer.alloc(0))]);
}

function chunk(name, data) {
  const body = Buffer.concat([Buffer.from(name, 'latin1'), data]);
  const out = Buffer.alloc(body.length + 8);
  out.writeUInt32BE(data.length, 0);
  body.copy(out, 4);
  out.writeUInt32BE(crc(body), body.length + 4);
  return out;
}

function crc(bytes) {
  let sum = 0xffffffff;
  for (const byte of bytes) {
    sum ^= byte;
    for (let bit = 0; bit < 8; bit += 1) sum = (sum >>> 1) ^ (sum & 1 ? 0xedb88320 : 0);
  }
  return (sum ^ 0xffffffff) >>> 0;
}

function svg() {
  const hex = (colour) => `#${colour.map((channel) => channel.toString(16).padStart(2, '0')).join('')}`;
  const bars = BARS.map(({ x, y, w, colour }) => `<rect x="${x}" y="${y}" width="${w}" height="${HEIGHT}" rx="${HEIGHT / 2}" fill="${hex(colour)}"/>`);
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 64 64"><rect width="64" height="64" rx="14" fill="${hex(GROUND)}"/>${bars.join('')}</svg>\n`;
}

/** The icons, as files beside the page. */
export function icons() {
  return {
    name: 'icons',
    configureServer(server) {
      server.middlewares.use('/icon.svg', (_, response) => response.setHeader('content-type', 'image/svg+xml').end(svg()));
    },
    generateBundle() {
      this.emitFile({ type: 'asset', fileName: 'icon.svg', source: svg() });
      for (const size of SIZES) this.emitFile({ type: 'asset', fileName: `icon-${size}.png`, source: png(size) });
    },
  };
}

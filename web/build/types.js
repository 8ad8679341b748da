// Writes app/wire/frames.ts: the types of everything on the wire, from wire.schema.json.
import { readFileSync, writeFileSync } from 'node:fs';

const here = (path) => new URL(`../${path}`, import.meta.url);
const { $defs } = JSON.parse(readFileSync(here('wire.schema.json'), 'utf8'));

const union = (types) => [...new Set(types)].join(' | ');

/** The TypeScript type of a schema. A keyword that is not known here stops the build: no type is guessed. */
function type(schema, where) {
  if (schema.$ref) return schema.$ref.replace('#/$defs/', '');
  if ('const' in schema) return JSON.stringify(schema.const);
  if (schema.enum) return union(schema.enum.map((value) => JSON.stringify(value)));
  if (schema.oneOf) return union(schema.oneOf.map((one) => type(one, where)));
  switch (schema.type) {
    case 'string': return 'string';
    case 'boolean': return 'boolean';
    case 'integer':
    case 'number': return 'number';
    case 'array': return `readonly (${type(schema.items, where)})[]`;
    case 'object': return members(schema, where);
    default: throw new Error(`${where}: no type for ${JSON.stringify(schema)}`);
  }
}

function members({ properties = {}, required = [] }, where) {
  const lines = Object.entries(properties).map(([name, schema]) => {
    const doc = schema.description ? `  /** ${schema.description} */\n` : '';
    return `${doc}  readonly ${name}${required.includes(name) ? '' : '?'}: ${type(schema, `${where}.${name}`)};\n`;
  });
  return `{\n${lines.join('')}}`;
}

const types = Object.entries($defs).map(
  ([name, schema]) => `/** ${schema.description} */\nexport type ${name} = ${type(schema, name)};\n`,
);
const head = '// Made from wire.schema.json by build/types.js: change that, not this.\n\n';
writeFileSync(here('app/wire/frames.ts'), head + types.join('\n'));
